import { isAbsolute, join } from 'node:path';
import { isMap, type Json, type JsonMap } from '../../model.ts';
import { parseTable, type TableCell, type TablePlace } from '../../support/csv.ts';
import { didYouMean } from '../../support/text.ts';
import { testIdKey } from '../catalog.ts';
import { error, type Fault, underlined, warning, widestLine } from './problems.ts';
import { interpolateText, whyUnread } from './references.ts';
import type { Reading } from './validate.ts';

/** The catalog from a table: a row for each test, a column for each key. */

interface TableReading {
  readonly folder: string;
  readonly readFile: (path: string) => string;
  /** Whether a table that cannot be read is only warned of. */
  readonly isLenient: boolean;
  /** The catalog to use in place of the table, which is then not read. */
  readonly standIn: Json | undefined;
  readonly reading: Reading;
}

/** The config with the entries of the table that its catalog names, if it names one. */
export function withCatalogOf(
  config: JsonMap,
  { folder, readFile, isLenient, standIn, reading: { report, resolve } }: TableReading,
): JsonMap {
  const { catalog, ...others } = config;
  if (!isMap(catalog) || !Object.hasOwn(catalog, 'file')) return config;
  const written = catalog['file'];
  const path = ['catalog', 'file'];
  for (const key of Object.keys(catalog))
    if (key !== 'file') report(error(['catalog', key], 'a catalog has a file, or entries of its own', 'key'));
  const name = typeof written === 'string' ? interpolateText(written, resolve) : '';
  if (name === '') {
    report(error(path, 'expected the name of a table, such as tests.csv'));
    return others;
  }
  if (standIn !== undefined) return { ...others, catalog: standIn };
  const file = isAbsolute(name) ? name : join(folder, name);
  try {
    const text = readFile(file);
    const { entries: tests, faults } = readCatalogTable(text, file);
    for (const fault of faults) report(fault);
    return { ...others, catalog: tests };
  } catch (thrown) {
    const why = `the table ${file} cannot be read: ${whyUnread(thrown)}`;
    report(isLenient ? warning(path, why) : error(path, why));
    return others;
  }
}

/** Columns that are text in every config. */
const texts: ReadonlySet<string> = new Set(['name', 'owner', 'channel']);
const idColumn = 'test';

/** Reads a table into the entries as a config would have them, and its faults. */
function readCatalogTable(text: string, file: string): { entries: JsonMap; faults: Fault[] } {
  const { header, rows, faults: unreadable } = parseTable(text);
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n?|\n/);
  const faultAt = (severity: Fault['severity'], place: TablePlace, message: string): Fault => ({
    severity,
    path: ['catalog', 'file'],
    at: 'value',
    message,
    elsewhere: { file, ...positionOf(place, lines) },
  });
  const found = unreadable.map((one) => faultAt('error', one, one.message));
  // Further faults of an unreadable table follow from that. Its readable rows are used all the same, as each use of a missing one would be a fault, too.
  const report = (...fault: Parameters<typeof faultAt>) => {
    if (unreadable.length === 0) found.push(faultAt(...fault));
  };
  const names = header.map((cell) => cell.text);
  for (const [index, cell] of header.entries())
    if (cell.text !== '' && names.indexOf(cell.text) < index)
      report('error', cell, `there is a column "${cell.text}" already`);
    else if (cell.text !== '' && !/^[\w-]+$/.test(cell.text))
      report('warning', cell, `no rule can name "${cell.text}": use letters, digits, "_" and "-" only`);
  const idAt = names.indexOf(idColumn);
  if (idAt < 0) {
    const words = `expected a column "${idColumn}" with the tests' ids${didYouMean(idColumn, names)}`;
    report('error', header[0] ?? { line: 1, column: 1 }, words);
    return { entries: {}, faults: found };
  }
  // Such as an export that failed: a rule for all but one team would take everybody.
  if (rows.length === 0) report('error', header[idAt]!, 'the table has no tests: nothing stands below this');
  const numeric = names.map((name, index) => !texts.has(name) && isNumeric(rows, index));
  const entries = new Map<string, JsonMap>();
  for (const row of rows) {
    const id = row[idAt]?.text ?? '';
    const place = row[idAt] ?? row[0]!;
    const { error: fault } = testIdKey.safeParse(id);
    if (fault) {
      report('error', place, `${fault.issues[0]?.message}, got "${id}"`);
      continue;
    }
    if (entries.has(id)) report('error', place, `there is a row for the test ${id} already`);
    const values = row.flatMap(({ text: cell }, index): [string, Json][] => {
      const name = names[index] ?? '';
      if (index === idAt || name === '' || cell === '') return [];
      // References in a table are literal text.
      return [[name, numeric[index] ? Number(cell) : cell.replaceAll('${', () => '$${')]];
    });
    entries.set(id, Object.fromEntries(values));
  }
  return { entries: Object.fromEntries(entries), faults: found };
}

/** Whether a column has only numbers. Digits after a zero are text, such as a code. */
function isNumeric(rows: readonly (readonly TableCell[])[], index: number): boolean {
  const cells = rows.map((row) => row[index]?.text ?? '').filter((cell) => cell !== '');
  return cells.length > 0 && cells.every((cell) => /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(cell));
}

function positionOf({ line, column }: TablePlace, lines: readonly string[]) {
  const shown = lines[line - 1] ?? '';
  return { line, column, excerpt: shown.length > widestLine ? '' : underlined(line, shown, column - 1) };
}
