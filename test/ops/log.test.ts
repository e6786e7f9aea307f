import { execFileSync } from 'node:child_process';
import { expect, onTestFinished, test, vi } from 'vitest';
import { seldom } from '../../src/ops/log.ts';

test('what comes again and again is written at once, then once a minute with how often it came', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const written: [string, number][] = [];
  const note = seldom<string>((last, times) => void written.push([last, times]));
  for (const one of ['a', 'b', 'c']) note(one);
  expect(written).toEqual([['a', 1]]);
  vi.advanceTimersByTime(60_000);
  expect(written.slice(1)).toEqual([['c', 2]]);
  // A minute without it is its end.
  vi.advanceTimersByTime(60_000);
  note('d');
  expect(written.slice(2)).toEqual([['d', 1]]);
});

test('a line is the same JSON whether it has texts and numbers only or more', () => {
  const fields = String.raw`{ text: 'a "quoted"\n\u2028%s', count: 1, none: null, absent: undefined, not: NaN, is: true }`;
  const program = `
    import { createLogger } from './src/ops/log.ts';
    const { log, end } = createLogger({ level: 'info', format: 'json', color: false, mask: (text) => text });
    log.debug({ a: 1 }, 'not written');
    log.warn(${fields}, 'said %d "times"');
    log.warn({ ...${fields}, more: [] }, 'said %d "times"');
    log.info({}, 'nothing');
    log.info('alone');
    log.error({ err: new Error('broken') }, 'failed');
    await end(1000);`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  const [flat, more, nothing, alone, failed] = printed
    .trimEnd()
    .replaceAll(/"time":"[^"]+"/g, '"time":""')
    .split('\n');
  expect(flat).toContain('"level":"warn"');
  expect(flat).toBe(more?.replace(',"more":[]', ''));
  expect(nothing).toBe('{"level":"info","time":"","msg":"nothing"}');
  expect(alone).toBe('{"level":"info","time":"","msg":"alone"}');
  expect(JSON.parse(failed ?? '')).toMatchObject({ err: { message: 'broken' } });
});
