// Loaded with --require into `node --test` and, through it, into the process of every test file.
// A test file that ends its own process early is reported by node as a passing file, with the tests that
// never ran simply absent. Here such an end becomes exit code 70, which node reports as a failure of the file.
// Programs that the tests start are not touched: they do not inherit --require, and their parent is another.
"use strict";

const fs = require("node:fs");

const MARK = "AUTOPILOT_NODE_TEST_PID";
const EARLY_END = 70;

if (process.env[MARK] === undefined) {
  process.env[MARK] = String(process.pid);
} else if (process.env[MARK] === String(process.ppid)) {
  const reallyExit = process.reallyExit;
  process.reallyExit = function (code) {
    fs.writeSync(2, "autopilot: a test file ended its own process before its tests were done\n");
    return reallyExit.call(process, code || EARLY_END);
  };
  if (typeof process.execve === "function") {
    process.execve = function () {
      throw new Error("autopilot: a test file may not replace its own process");
    };
  }
}
