const { run } = await import('./commands/program.ts');
const { exit, printer } = await import('./commands/output.ts');
const { wantsColor } = await import('./support/text.ts');

const stdout = printer(process.stdout);
process.stderr.on('error', () => {});
process.exitCode = await run(process.argv.slice(2), {
  out: stdout.out,
  drained: stdout.drained,
  err: (text) => void process.stderr.write(`${text}\n`),
  env: process.env,
  color: wantsColor(process.stdout, process.env),
});

const fault: NodeJS.ErrnoException | null = stdout.fault();
// A reader may stop early, as with `events | head`. But a file that cannot be written is incomplete.
if (fault !== null && !['EPIPE', 'EIO'].includes(fault.code ?? '')) {
  process.stderr.write(`candidate-connector: not all output could be written: ${fault.message}\n`);
  process.exitCode = exit.problems;
}
