"""autopilot: the unattended night shift for software teams."""
