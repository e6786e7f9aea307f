import { describe, expect, test } from 'vitest';
import { parseTable, streamTable } from '../../src/support/csv.ts';
import { csvLine, csvSeparator } from '../../src/support/text.ts';

const cells = (text: string) => {
  const { header, rows, faults } = parseTable(text);
  expect(faults).toEqual([]);
  return [header, ...rows].map((row) => row.map((cell) => cell.text));
};
const faultsOf = (text: string) =>
  parseTable(text).faults.map(({ line, column, message }) => `${line}:${column} ${message}`);

describe('a table', () => {
  const usual = [
    ['test', 'name'],
    ['1', 'Backend, "senior"'],
    ['2', 'two\nlines'],
  ];
  test.for<[string, string]>([
    ['with commas', 'test,name\n1,"Backend, ""senior"""\n2,"two\nlines"\n'],
    ['as Excel writes it in Europe', '\uFEFFtest;name\r\n1;"Backend, ""senior"""\r\n2;"two\nlines"\r\n'],
    ['with its separator stated', 'sep=;\r\ntest;name\r\n1;"Backend, ""senior"""\r\n2;"two\nlines"'],
    ['with tabs', 'test\tname\r1\t"Backend, ""senior"""\r2\t"two\nlines"'],
    ['with empty rows and blanks', ' test , name \n\n1, "Backend, ""senior""" \n,\n2,"two\nlines"\n\n'],
  ])('%s', ([, text]) => {
    expect(cells(text)).toEqual(usual);
  });

  test('leaves out around a cell what a paste brings along and nobody sees, and keeps it within', () => {
    expect(cells('\u200Etest\u200B,name\n\u202A7\u202C,"\u2060A\u00ADB ⚠\uFE0F\u200B "\n')).toEqual([
      ['test', 'name'],
      ['7', 'A\u00ADB ⚠\uFE0F'],
    ]);
    const blanks = ' '.repeat(100_000);
    expect(cells(`a\n"\u200B${blanks}x${blanks}y\u200B"`)[1]).toEqual([`x${blanks}y`]);
  });

  test('keeps a quote within a cell, and a comma where semicolons part the cells', () => {
    expect(cells('a;b\n5" disk;1,5')).toEqual([
      ['a', 'b'],
      ['5" disk', '1,5'],
    ]);
    expect(cells('')).toEqual([[]]);
  });

  test('says of each cell where it is, after line breaks within quotes, too', () => {
    const { rows } = parseTable('a,b\r\n"x\r\ny",z\r\n,w');
    expect(rows.flat().map(({ text, line, column }) => [text, line, column])).toEqual([
      ['x\r\ny', 2, 1],
      ['z', 3, 4],
      ['', 4, 1],
      ['w', 4, 2],
    ]);
  });

  test.for<[string, string[]]>([
    ['a,b\n1,"two\n3,4\n', ['2:3 the quote that begins here does not end']],
    ['a,b\n1,"x" y\n', ['2:3 this cell goes on after its quotes; within them a quote is written twice']],
    ['a,b\n1,2,3,\n', ['2:5 the header has only 2 columns']],
    ['a,b\n1,\uFFFDtefan\n', ['2:3 the table is not UTF-8 text; save it as "CSV UTF-8"']],
  ])('says what is wrong, and where: %j', ([text, faults]) => {
    expect(faultsOf(text)).toEqual(faults);
  });

  test('read in pieces of any size is the same', async () => {
    const text = '\uFEFFsep=;\r\na;b\r\n"x\r\ny;""";z\r\n\r\n;w\r1; "2" \n3;4;5';
    const { header, rows, faults } = parseTable(text);
    for (let size = 1; size <= text.length; size += 1) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, n) =>
        text.slice(n * size, (n + 1) * size),
      );
      const read = await Array.fromAsync(streamTable(ReadableStream.from(pieces)));
      expect(read.map(({ cells: row }) => row)).toEqual([header, ...rows]);
      expect(read.flatMap((row) => row.faults)).toEqual(faults);
    }
  });

  test('read in pieces ends where a quote, or a line, does not', async () => {
    const endless = async function* (begin: string) {
      yield `a,b\n1,2\n${begin}`;
      for (let n = 0; n < 100; n += 1) yield 'x'.repeat(100_000);
      throw new Error('read on');
    };
    for (const [begin, message] of [
      ['"', 'the quote that begins here does not end'],
      ['', 'this row has more than 1000000 characters'],
    ] as const) {
      const read = await Array.fromAsync(streamTable(endless(begin)));
      expect(read).toHaveLength(3);
      expect(read.at(-1)).toMatchObject({ faults: [{ line: 3, column: 1, message }], isLast: true });
    }
  });

  test('of a megabyte takes no stack and little time', () => {
    const long = `a,b\n1,"${'""'.repeat(500_000)}"\n`;
    expect(cells(long)[1]?.[1]).toHaveLength(500_000);
    expect(parseTable(`a,b\n${'1,2\n'.repeat(200_000)}`).rows).toHaveLength(200_000);
  });
});

test('a written line has no formula in it, by whichever sign a program parts its cells', () => {
  const values = ['x,=1+1', 'x; "=1+1', 'a, b; c'];
  expect(csvLine(values, ',')).toBe(`"x,=1+1","x; ""'=1+1","a, b; c"`);
  expect(csvLine(values, ';')).toBe(`x,'=1+1;"x; ""=1+1";"a, b; c"`);
});

test.for([
  ['en-GB', ','],
  ['es-MX', ','],
  ['fr', ';'],
  ['de-CH', ';'],
  ['it-CH', ';'],
] as const)('spreadsheets of %s part cells by %s', ([locale, separator]) => {
  expect(csvSeparator(locale)).toBe(separator);
});
