// Prints `N passed, N failed, N skipped` over reports of vitest's JSON reporter, and exits 1 unless each has tests and
// every one ran and passed. Plain JavaScript for the Node that the machine has: it also has to speak where the installation failed.
import { readFileSync } from 'node:fs';

/** The report, or what an empty run would give where vitest did not get as far as writing one. */
function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };
  }
}

/** A file that failed as a whole, at an import or in a hook: none of its tests is reported as failed. */
const failedAsWhole = ({ status, assertionResults }) =>
  status === 'failed' && assertionResults.every((test) => test.status !== 'failed');

const reports = process.argv.slice(2).map(read);
const sum = (count) => reports.map(count).reduce((one, other) => one + other, 0);
const passed = sum((report) => report.numPassedTests);
const failed = sum((report) => report.numFailedTests + report.testResults.filter(failedAsWhole).length);
const skipped = sum((report) => report.numPendingTests + report.numTodoTests);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
const haveAllTests = reports.every((report) => report.numPassedTests > 0);
process.exitCode = haveAllTests && failed === 0 && skipped === 0 ? 0 : 1;
