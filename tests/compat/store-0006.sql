BEGIN TRANSACTION;
CREATE TABLE agent_windows (
	agent TEXT NOT NULL, 
	since_ms BIGINT NOT NULL, 
	resets_ms BIGINT NOT NULL, 
	reason TEXT NOT NULL, 
	probe_run_id TEXT, 
	PRIMARY KEY (agent)
);
INSERT INTO "agent_windows" VALUES('limited',1767312000000,1767315600000,'it ended as usage-limit',NULL);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0006');
CREATE TABLE attempts (
	run_id TEXT NOT NULL, 
	ticket INTEGER NOT NULL, 
	no INTEGER NOT NULL, 
	session INTEGER NOT NULL, 
	agent TEXT NOT NULL, 
	repo TEXT NOT NULL, 
	fence INTEGER NOT NULL, 
	claim_token TEXT NOT NULL, 
	state TEXT NOT NULL, 
	pid BIGINT, 
	pid_started_ms BIGINT, 
	started_ms BIGINT NOT NULL, 
	finished_ms BIGINT, 
	outcome TEXT, 
	code TEXT DEFAULT '' NOT NULL, 
	message TEXT DEFAULT '' NOT NULL, 
	reserved_micro_usd BIGINT NOT NULL, 
	spent_micro_usd BIGINT DEFAULT '0' NOT NULL, 
	spend_known BOOLEAN DEFAULT false NOT NULL, 
	produced BOOLEAN, 
	failure_class TEXT, 
	is_probe BOOLEAN NOT NULL, 
	ended_by TEXT, 
	head TEXT, 
	base_sha TEXT, lease_until_ms BIGINT, boot TEXT, tokens BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (run_id), 
	CONSTRAINT ux_attempts_session UNIQUE (ticket, session), 
	CONSTRAINT ck_attempts_state CHECK (state IN ('running','finished')), 
	CONSTRAINT ck_attempts_finished CHECK ((state = 'finished') = (finished_ms IS NOT NULL)), 
	CONSTRAINT ck_attempts_money CHECK (reserved_micro_usd >= 0 AND spent_micro_usd >= 0), 
	FOREIGN KEY(ticket) REFERENCES tickets (short_id)
);
INSERT INTO "attempts" VALUES('T-1-a1-531a4a29',1,1,1,'scripted','shop',1,'f39cede5ec919a1c6bc6f3789d20ce08','finished',NULL,NULL,1767312000000,1767312000000,'committed','committed','it ended as committed',5000000,1000000,1,1,NULL,0,'pass','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',1767312060000,NULL,0);
INSERT INTO "attempts" VALUES('T-3-a1-3cf7c623',3,1,1,'scripted','busy',1,'257c872404f4257786fa8f1a1dc35162','running',4711,1,1767312000000,NULL,NULL,'','',5000000,12345,0,NULL,NULL,0,NULL,NULL,NULL,1767312060000,NULL,0);
INSERT INTO "attempts" VALUES('T-4-a1-b502805a',4,1,1,'scripted','shop',1,'61353fb7447f011ce43d3cfe4957257d','finished',NULL,NULL,1767312000000,1767312000000,'committed','committed','it ended as committed',5000000,1000000,1,1,NULL,0,'pass','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',1767312060000,NULL,0);
INSERT INTO "attempts" VALUES('T-5-a1-883f8051',5,1,1,'scripted','shop',1,'f3c82704afbe1fa4f4e5bc23cdfa9c70','finished',NULL,NULL,1767312000000,1767312000000,'committed','committed','it ended as committed',5000000,1000000,1,1,NULL,0,'pass','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',1767312060000,NULL,0);
INSERT INTO "attempts" VALUES('T-6-a1-4192bbf7',6,1,1,'scripted','shop',1,'e4d716863c0bde9c013d915e6235e095','finished',NULL,NULL,1767312000000,1767312000000,'asked','asked','it ended as asked',5000000,1000000,1,1,NULL,0,'park',NULL,'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',1767312060000,NULL,0);
INSERT INTO "attempts" VALUES('T-7-a1-7984df7b',7,1,1,'scripted','shop',1,'8889a4ed188be01542cd80ae55285c72','finished',NULL,NULL,1767312000000,1767312000000,'agent-failed','agent-failed','it ended as agent-failed',5000000,1000000,1,0,'agent-failed',0,'fail',NULL,'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',1767312060000,NULL,0);
INSERT INTO "attempts" VALUES('T-9-a1-11f261e2',9,1,1,'limited','shop',1,'34e0c88a6e787800a87994b154da46a3','finished',NULL,NULL,1767312000000,1767312000000,'usage-limit','usage-limit','it ended as usage-limit',5000000,1000000,1,NULL,NULL,0,'release',NULL,'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',1767312060000,NULL,0);
CREATE TABLE awake_locks (
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	warning TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	since_ms BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "awake_locks" VALUES('run','none','awake-no-bus','no bus',1767312000000);
CREATE TABLE breakers (
	scope TEXT NOT NULL, 
	state TEXT NOT NULL, 
	failures INTEGER NOT NULL, 
	failure_class TEXT, 
	opened_ms BIGINT, 
	cooldown_until_ms BIGINT, 
	cooldown_ms BIGINT NOT NULL, 
	probe_run_id TEXT, 
	PRIMARY KEY (scope), 
	CONSTRAINT ck_breakers_state CHECK (state IN ('closed','open','half-open')), 
	CONSTRAINT ck_breakers_probe CHECK ((state = 'half-open') = (probe_run_id IS NOT NULL))
);
INSERT INTO "breakers" VALUES('agent:scripted','closed',1,'agent-failed',NULL,NULL,0,NULL);
CREATE TABLE deliveries (
	id INTEGER NOT NULL, 
	subject TEXT NOT NULL, 
	channel TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	ticket TEXT, 
	text TEXT NOT NULL, 
	state TEXT NOT NULL, 
	tries INTEGER DEFAULT '0' NOT NULL, 
	not_before_ms BIGINT NOT NULL, 
	code TEXT DEFAULT '' NOT NULL, 
	reason TEXT DEFAULT '' NOT NULL, 
	hint TEXT DEFAULT '' NOT NULL, 
	created_ms BIGINT NOT NULL, 
	started_ms BIGINT, 
	ended_ms BIGINT, 
	PRIMARY KEY (id), 
	CONSTRAINT ux_deliveries_once UNIQUE (subject, channel), 
	CONSTRAINT ck_deliveries_state CHECK (state IN ('waiting','sending','sent','refused','failed','unsure')), 
	CONSTRAINT ck_deliveries_ended CHECK ((state IN ('waiting','sending')) = (ended_ms IS NULL))
);
INSERT INTO "deliveries" VALUES(1,'digest 2026-01-02','team','digest',NULL,'A quiet night – ruhig','waiting',0,1767312000000,'','','',1767312000000,NULL,NULL);
CREATE TABLE dependencies (
	ticket INTEGER NOT NULL, 
	depends_on INTEGER NOT NULL, 
	PRIMARY KEY (ticket, depends_on), 
	CONSTRAINT ck_dependencies_older CHECK (depends_on < ticket), 
	FOREIGN KEY(ticket) REFERENCES tickets (short_id), 
	FOREIGN KEY(depends_on) REFERENCES tickets (short_id)
);
INSERT INTO "dependencies" VALUES(2,1);
CREATE TABLE exchanges (
	id INTEGER NOT NULL, 
	ticket INTEGER NOT NULL, 
	run_id TEXT, 
	question TEXT NOT NULL, 
	asked_ms BIGINT NOT NULL, 
	answer TEXT, 
	answered_ms BIGINT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(ticket) REFERENCES tickets (short_id)
);
INSERT INTO "exchanges" VALUES(1,6,'T-6-a1-4192bbf7','Blue?',1767312000000,NULL,NULL);
CREATE TABLE firings (
	schedule TEXT NOT NULL, 
	nominal_ms BIGINT NOT NULL, 
	fired_ms BIGINT NOT NULL, 
	PRIMARY KEY (schedule, nominal_ms)
);
INSERT INTO "firings" VALUES('digest',1,1767312000000);
CREATE TABLE gates (
	id INTEGER NOT NULL, 
	ticket INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	head TEXT NOT NULL, 
	record JSON NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(ticket) REFERENCES tickets (short_id)
);
INSERT INTO "gates" VALUES(1,1,'T-1-a1-531a4a29','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"gate": "build", "verdict": "passed", "code": "", "mandatory": true, "head": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "base": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "started_ms": 1, "duration_ms": 1, "command_sha256": null, "evidence": [], "counts": null, "reason": "", "producer": "run"}');
INSERT INTO "gates" VALUES(2,1,'T-1-a1-531a4a29','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"gate": "test-summary", "verdict": "passed", "code": "", "mandatory": true, "head": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "base": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "started_ms": 1, "duration_ms": 1, "command_sha256": null, "evidence": [], "counts": null, "reason": "", "producer": "run"}');
INSERT INTO "gates" VALUES(3,1,'T-1-a1-531a4a29','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"gate": "evidence", "verdict": "passed", "code": "", "mandatory": true, "head": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "base": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "started_ms": 1, "duration_ms": 1, "command_sha256": null, "evidence": [], "counts": null, "reason": "", "producer": "run"}');
INSERT INTO "gates" VALUES(4,4,'T-4-a1-b502805a','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"gate": "build", "verdict": "passed", "code": "", "mandatory": true, "head": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "base": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "started_ms": 1, "duration_ms": 1, "command_sha256": null, "evidence": [], "counts": null, "reason": "", "producer": "run"}');
INSERT INTO "gates" VALUES(5,4,'T-4-a1-b502805a','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"gate": "test-summary", "verdict": "passed", "code": "", "mandatory": true, "head": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "base": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "started_ms": 1, "duration_ms": 1, "command_sha256": null, "evidence": [], "counts": null, "reason": "", "producer": "run"}');
INSERT INTO "gates" VALUES(6,4,'T-4-a1-b502805a','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"gate": "evidence", "verdict": "passed", "code": "", "mandatory": true, "head": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "base": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "started_ms": 1, "duration_ms": 1, "command_sha256": null, "evidence": [], "counts": null, "reason": "", "producer": "run"}');
INSERT INTO "gates" VALUES(7,5,'T-5-a1-883f8051','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"gate": "build", "verdict": "passed", "code": "", "mandatory": true, "head": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "base": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "started_ms": 1, "duration_ms": 1, "command_sha256": null, "evidence": [], "counts": null, "reason": "", "producer": "run"}');
INSERT INTO "gates" VALUES(8,5,'T-5-a1-883f8051','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"gate": "test-summary", "verdict": "passed", "code": "", "mandatory": true, "head": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "base": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "started_ms": 1, "duration_ms": 1, "command_sha256": null, "evidence": [], "counts": null, "reason": "", "producer": "run"}');
INSERT INTO "gates" VALUES(9,5,'T-5-a1-883f8051','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','{"gate": "evidence", "verdict": "passed", "code": "", "mandatory": true, "head": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "base": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "started_ms": 1, "duration_ms": 1, "command_sha256": null, "evidence": [], "counts": null, "reason": "", "producer": "run"}');
CREATE TABLE history (
	id INTEGER NOT NULL, 
	ticket INTEGER NOT NULL, 
	"trigger" TEXT NOT NULL, 
	from_state TEXT, 
	to_state TEXT NOT NULL, 
	at_ms BIGINT NOT NULL, 
	"by" TEXT NOT NULL, 
	run_id TEXT, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(ticket) REFERENCES tickets (short_id)
);
INSERT INTO "history" VALUES(1,1,'enqueue',NULL,'queued',1767312000000,'operator',NULL,'');
INSERT INTO "history" VALUES(2,1,'claim','queued','running',1767312000000,'daemon','T-1-a1-531a4a29','');
INSERT INTO "history" VALUES(3,1,'pass','running','committed',1767312000000,'daemon','T-1-a1-531a4a29','');
INSERT INTO "history" VALUES(4,1,'begin_publish','committed','publishing',1767312000000,'daemon','T-1-a1-531a4a29','');
INSERT INTO "history" VALUES(5,1,'publish_done','publishing','published',1767312000000,'daemon','T-1-a1-531a4a29','');
INSERT INTO "history" VALUES(6,2,'enqueue',NULL,'queued',1767312000000,'operator',NULL,'');
INSERT INTO "history" VALUES(7,3,'enqueue',NULL,'queued',1767312000000,'operator',NULL,'');
INSERT INTO "history" VALUES(8,3,'claim','queued','running',1767312000000,'daemon','T-3-a1-3cf7c623','');
INSERT INTO "history" VALUES(9,4,'enqueue',NULL,'queued',1767312000000,'operator',NULL,'');
INSERT INTO "history" VALUES(10,4,'claim','queued','running',1767312000000,'daemon','T-4-a1-b502805a','');
INSERT INTO "history" VALUES(11,4,'pass','running','committed',1767312000000,'daemon','T-4-a1-b502805a','');
INSERT INTO "history" VALUES(12,5,'enqueue',NULL,'queued',1767312000000,'operator',NULL,'');
INSERT INTO "history" VALUES(13,5,'claim','queued','running',1767312000000,'daemon','T-5-a1-883f8051','');
INSERT INTO "history" VALUES(14,5,'pass','running','committed',1767312000000,'daemon','T-5-a1-883f8051','');
INSERT INTO "history" VALUES(15,5,'begin_publish','committed','publishing',1767312000000,'daemon','T-5-a1-883f8051','');
INSERT INTO "history" VALUES(16,6,'enqueue',NULL,'queued',1767312000000,'operator',NULL,'');
INSERT INTO "history" VALUES(17,6,'claim','queued','running',1767312000000,'daemon','T-6-a1-4192bbf7','');
INSERT INTO "history" VALUES(18,6,'park','running','parked',1767312000000,'daemon','T-6-a1-4192bbf7','questions: it ended as asked');
INSERT INTO "history" VALUES(19,7,'enqueue',NULL,'queued',1767312000000,'operator',NULL,'');
INSERT INTO "history" VALUES(20,7,'claim','queued','running',1767312000000,'daemon','T-7-a1-7984df7b','');
INSERT INTO "history" VALUES(21,7,'fail','running','failed',1767312000000,'daemon','T-7-a1-7984df7b','it ended as agent-failed (attempt 1, the last one)');
INSERT INTO "history" VALUES(22,8,'enqueue',NULL,'queued',1767312000000,'operator',NULL,'');
INSERT INTO "history" VALUES(23,8,'cancel','queued','cancelled',1767312000000,'me',NULL,'cancelled by me');
INSERT INTO "history" VALUES(24,9,'enqueue',NULL,'queued',1767312000000,'operator',NULL,'');
INSERT INTO "history" VALUES(25,9,'claim','queued','running',1767312000000,'daemon','T-9-a1-11f261e2','');
INSERT INTO "history" VALUES(26,9,'release','running','queued',1767312000000,'daemon','T-9-a1-11f261e2','it ended as usage-limit');
CREATE TABLE holds (
	name TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	cause TEXT NOT NULL, 
	since_ms BIGINT NOT NULL, 
	cure TEXT NOT NULL, 
	clears_ms BIGINT, 
	PRIMARY KEY (name, scope)
);
INSERT INTO "holds" VALUES('slots-full','host','2 of 2',1,'wait',NULL);
CREATE TABLE ledger (
	id INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	ticket INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	micro_usd BIGINT NOT NULL, 
	known BOOLEAN NOT NULL, 
	at_ms BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT ck_ledger_kind CHECK (kind IN ('reserved','settled','raised')), 
	CONSTRAINT ck_ledger_money CHECK (micro_usd >= 0), 
	FOREIGN KEY(run_id) REFERENCES attempts (run_id), 
	FOREIGN KEY(ticket) REFERENCES tickets (short_id)
);
INSERT INTO "ledger" VALUES(1,'T-1-a1-531a4a29',1,'reserved',5000000,1,1767312000000);
INSERT INTO "ledger" VALUES(2,'T-1-a1-531a4a29',1,'settled',1000000,1,1767312000000);
INSERT INTO "ledger" VALUES(3,'T-3-a1-3cf7c623',3,'reserved',5000000,1,1767312000000);
INSERT INTO "ledger" VALUES(4,'T-4-a1-b502805a',4,'reserved',5000000,1,1767312000000);
INSERT INTO "ledger" VALUES(5,'T-4-a1-b502805a',4,'settled',1000000,1,1767312000000);
INSERT INTO "ledger" VALUES(6,'T-5-a1-883f8051',5,'reserved',5000000,1,1767312000000);
INSERT INTO "ledger" VALUES(7,'T-5-a1-883f8051',5,'settled',1000000,1,1767312000000);
INSERT INTO "ledger" VALUES(8,'T-6-a1-4192bbf7',6,'reserved',5000000,1,1767312000000);
INSERT INTO "ledger" VALUES(9,'T-6-a1-4192bbf7',6,'settled',1000000,1,1767312000000);
INSERT INTO "ledger" VALUES(10,'T-7-a1-7984df7b',7,'reserved',5000000,1,1767312000000);
INSERT INTO "ledger" VALUES(11,'T-7-a1-7984df7b',7,'settled',1000000,1,1767312000000);
INSERT INTO "ledger" VALUES(12,'T-9-a1-11f261e2',9,'reserved',5000000,1,1767312000000);
INSERT INTO "ledger" VALUES(13,'T-9-a1-11f261e2',9,'settled',1000000,1,1767312000000);
CREATE TABLE past_holds (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	cause TEXT NOT NULL, 
	cure TEXT NOT NULL, 
	since_ms BIGINT NOT NULL, 
	until_ms BIGINT NOT NULL, 
	held_ms BIGINT NOT NULL, 
	times INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "past_holds" VALUES(1,'disk-low','host','1 GiB – zu wenig','free some',1,1767312000000,1767311999999,1);
CREATE TABLE publications (
	id TEXT NOT NULL, 
	ticket INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	state TEXT NOT NULL, 
	repo TEXT NOT NULL, 
	base TEXT NOT NULL, 
	base_sha TEXT NOT NULL, 
	branch TEXT NOT NULL, 
	head TEXT NOT NULL, 
	idempotency_key TEXT NOT NULL, 
	expected_remote_head TEXT, 
	tries INTEGER NOT NULL, 
	losses INTEGER DEFAULT '0' NOT NULL, 
	pid BIGINT, 
	pid_started_ms BIGINT, 
	pushed TEXT, 
	outcome TEXT, 
	code TEXT DEFAULT '' NOT NULL, 
	message TEXT DEFAULT '' NOT NULL, 
	pr_url TEXT, 
	pr_number INTEGER, 
	pr_state TEXT, 
	created_ms BIGINT NOT NULL, 
	started_ms BIGINT NOT NULL, 
	finished_ms BIGINT, fence INTEGER DEFAULT '0' NOT NULL, lease_until_ms BIGINT, boot TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT ux_publications_head UNIQUE (ticket, head), 
	CONSTRAINT ck_publications_state CHECK (state IN ('running','deferred','done','refused')), 
	FOREIGN KEY(ticket) REFERENCES tickets (short_id), 
	UNIQUE (idempotency_key)
);
INSERT INTO "publications" VALUES('T-1-a1-531a4a29',1,'T-1-a1-531a4a29','done','shop','main','bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','autopilot/t-1-published','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','9f16be76acc65fc8549a23c75552a64f',NULL,1,0,NULL,NULL,'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','pr-opened','pr-opened','it ended as pr-opened','https://forge.test/pr/1',1,'open',1767312000000,1767312000000,1767312000000,2,1767312060000,NULL);
INSERT INTO "publications" VALUES('T-5-a1-883f8051',5,'T-5-a1-883f8051','running','shop','main','bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','autopilot/t-5-publishing','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','4460b601503a2a7592111d093a1be9f8',NULL,1,0,NULL,NULL,NULL,NULL,'','',NULL,NULL,NULL,1767312000000,1767312000000,NULL,2,1767312060000,NULL);
CREATE TABLE schedules (
	name TEXT NOT NULL, 
	due_ms BIGINT NOT NULL, 
	ended_ms BIGINT NOT NULL, 
	outcome TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	next_ms BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "schedules" VALUES('backup',1,2,'failed','no room',3600002);
CREATE TABLE sleeps (
	started_ms BIGINT NOT NULL, 
	slept_ms BIGINT NOT NULL, 
	lost_ms BIGINT NOT NULL, 
	runs JSON NOT NULL, 
	PRIMARY KEY (started_ms)
);
INSERT INTO "sleeps" VALUES(1,3600000,60000,'["T-3-a1-00000001"]');
CREATE TABLE switch (
	id INTEGER NOT NULL, 
	is_on BOOLEAN NOT NULL, 
	ignore_window BOOLEAN NOT NULL, 
	until_ms BIGINT, 
	off_mode TEXT NOT NULL, 
	drain_until_ms BIGINT, 
	changed_ms BIGINT NOT NULL, 
	"by" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT ck_switch_single CHECK (id = 1), 
	CONSTRAINT ck_switch_mode CHECK (off_mode IN ('finish','drain','now'))
);
INSERT INTO "switch" VALUES(1,1,1,NULL,'finish',NULL,1767312000000,'test');
CREATE TABLE tickets (
	short_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	state TEXT NOT NULL, 
	title TEXT NOT NULL, 
	body TEXT NOT NULL, 
	acceptance JSON NOT NULL, 
	repo TEXT NOT NULL, 
	base TEXT, 
	priority INTEGER NOT NULL, 
	agent TEXT, 
	source_key TEXT, 
	branch TEXT NOT NULL, 
	created_ms BIGINT NOT NULL, 
	updated_ms BIGINT NOT NULL, 
	not_before_ms BIGINT DEFAULT '0' NOT NULL, 
	attempts INTEGER DEFAULT '0' NOT NULL, 
	releases INTEGER DEFAULT '0' NOT NULL, 
	sessions INTEGER DEFAULT '0' NOT NULL, 
	losses INTEGER DEFAULT '0' NOT NULL, 
	ask_rounds INTEGER DEFAULT '0' NOT NULL, 
	cancel_requested BOOLEAN DEFAULT false NOT NULL, 
	waiting_for TEXT, 
	reason TEXT DEFAULT '' NOT NULL, 
	hint TEXT DEFAULT '' NOT NULL, 
	claim_token TEXT, 
	fence INTEGER DEFAULT '0' NOT NULL, 
	run_id TEXT, 
	head TEXT, 
	pr_url TEXT, 
	spent_micro_usd BIGINT DEFAULT '0' NOT NULL, tokens BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT ck_tickets_state CHECK (state IN ('queued','running','committed','publishing','published','parked','failed','cancelled')), 
	CONSTRAINT ck_tickets_claim CHECK ((state IN ('running','publishing')) = (claim_token IS NOT NULL)), 
	CONSTRAINT ck_tickets_parked CHECK ((state = 'parked') = (waiting_for IS NOT NULL)), 
	CONSTRAINT ck_tickets_counts CHECK (attempts >= 0 AND releases >= 0 AND sessions >= 0 AND spent_micro_usd >= 0)
);
INSERT INTO "tickets" VALUES(1,'published','Published','','[]','shop',NULL,2,NULL,'o/r#1','autopilot/t-1-published',1767312000000,1767312000000,0,1,0,1,0,0,0,NULL,'','',NULL,2,'T-1-a1-531a4a29','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','https://forge.test/pr/1',1000000,0);
INSERT INTO "tickets" VALUES(2,'queued','Wartet auf T-1 – später','','["a", "b"]','shop',NULL,0,NULL,NULL,'autopilot/t-2-wartet-auf-t-1-spater',1767312000000,1767312000000,0,0,0,0,0,0,0,NULL,'','',NULL,0,NULL,NULL,NULL,0,0);
INSERT INTO "tickets" VALUES(3,'running','Running','','[]','busy',NULL,2,NULL,NULL,'autopilot/t-3-running',1767312000000,1767312000000,0,1,0,1,0,0,0,NULL,'','','257c872404f4257786fa8f1a1dc35162',1,'T-3-a1-3cf7c623',NULL,NULL,0,0);
INSERT INTO "tickets" VALUES(4,'committed','Committed','','[]','shop',NULL,2,NULL,NULL,'autopilot/t-4-committed',1767312000000,1767312000000,0,1,0,1,0,0,0,NULL,'','',NULL,1,'T-4-a1-b502805a','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',NULL,1000000,0);
INSERT INTO "tickets" VALUES(5,'publishing','Publishing','','[]','shop',NULL,2,NULL,NULL,'autopilot/t-5-publishing',1767312000000,1767312000000,0,1,0,1,0,0,0,NULL,'','','4cb314a6921a4fc1712e3776ff5a969a',2,'T-5-a1-883f8051','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',NULL,1000000,0);
INSERT INTO "tickets" VALUES(6,'parked','Parked','','[]','shop',NULL,2,NULL,NULL,'autopilot/t-6-parked',1767312000000,1767312000000,0,1,0,1,0,1,0,'questions','it ended as asked','autopilot answer T-6',NULL,1,'T-6-a1-4192bbf7',NULL,NULL,1000000,0);
INSERT INTO "tickets" VALUES(7,'failed','Failed','','[]','shop',NULL,2,NULL,NULL,'autopilot/t-7-failed',1767312000000,1767312000000,0,1,0,1,0,0,0,NULL,'it ended as agent-failed (attempt 1, the last one)','autopilot logs T-7 shows its last words',NULL,1,'T-7-a1-7984df7b',NULL,NULL,1000000,0);
INSERT INTO "tickets" VALUES(8,'cancelled','Cancelled','','[]','shop',NULL,2,NULL,NULL,'autopilot/t-8-cancelled',1767312000000,1767312000000,0,0,0,0,0,0,0,NULL,'cancelled by me','',NULL,0,NULL,NULL,NULL,0,0);
INSERT INTO "tickets" VALUES(9,'queued','Limited','','[]','shop',NULL,2,NULL,NULL,'autopilot/t-9-limited',1767312000000,1767312000000,1767315600000,0,1,1,0,0,0,NULL,'it ended as usage-limit','the agent''s usage window opens at 2026-01-02T01:00:00.000Z',NULL,1,'T-9-a1-11f261e2',NULL,NULL,1000000,0);
CREATE INDEX ix_tickets_queued ON tickets (priority, not_before_ms, short_id) WHERE state = 'queued';
CREATE INDEX ix_tickets_committed ON tickets (priority, not_before_ms, short_id) WHERE state = 'committed';
CREATE INDEX ix_tickets_state ON tickets (state, short_id);
CREATE UNIQUE INDEX ux_tickets_source_key ON tickets (source_key) WHERE source_key IS NOT NULL;
CREATE INDEX ix_exchanges_ticket ON exchanges (ticket);
CREATE INDEX ix_history_ticket ON history (ticket);
CREATE INDEX ix_history_at ON history (at_ms);
CREATE UNIQUE INDEX ux_attempts_running ON attempts (ticket) WHERE state = 'running';
CREATE INDEX ix_attempts_finished ON attempts (finished_ms);
CREATE INDEX ix_attempts_started ON attempts (started_ms);
CREATE UNIQUE INDEX ux_ledger_once ON ledger (run_id, kind) WHERE kind <> 'raised';
CREATE INDEX ix_ledger_at ON ledger (at_ms);
CREATE INDEX ix_gates_ticket ON gates (ticket);
CREATE UNIQUE INDEX ux_publications_running ON publications (ticket) WHERE state = 'running';
CREATE INDEX ix_publications_open ON publications (repo) WHERE pr_state = 'open';
CREATE INDEX ix_publications_finished ON publications (finished_ms);
CREATE INDEX ix_dependencies_depends_on ON dependencies (depends_on);
CREATE INDEX ix_ledger_ticket ON ledger (ticket);
CREATE INDEX ix_ledger_run ON ledger (run_id);
CREATE INDEX ix_deliveries_open ON deliveries (not_before_ms) WHERE ended_ms IS NULL;
CREATE INDEX ix_deliveries_ended ON deliveries (ended_ms);
CREATE INDEX ix_past_holds_until ON past_holds (until_ms);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('tickets',9);
COMMIT;
