"""`script/soak`: the demonstration over and over, watching for what one run cannot show."""
