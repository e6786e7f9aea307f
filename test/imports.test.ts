import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectors } from '../connectors/index.ts';

const root = join(import.meta.dirname, '..');

const sources = ['src', 'connectors'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file)),
);

/** What a file imports: paths from the root for our own files, names for packages. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(
    /^(?:import|export)\s[^;]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|^import\s+'([^']+)'/gms,
  );
  return [...found].map(([, from, lazy, bare]) => {
    const name = from ?? lazy ?? bare ?? '';
    return name.startsWith('.') ? normalize(join(dirname(file), name)) : name;
  });
}

const within = (...folders: string[]) =>
  sources.filter((file) => folders.some((folder) => file.startsWith(folder)));

function breaches(files: string[], allowed: (name: string, file: string) => boolean): string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter((name) => !allowed(name, file))
      .map((name) => `${file} imports ${name}`),
  );
}

/** Each group of files that import each other, directly or through others of the group. */
function circles(): string[][] {
  const reach = new Map(sources.map((file) => [file, reachable(file)]));
  const groups = sources
    .filter((file) => reach.get(file)!.has(file))
    .map((file) => [...reach.get(file)!].filter((other) => reach.get(other)?.has(file)).toSorted());
  return [...new Map(groups.map((group) => [group.join(), group])).values()];
}

function reachable(file: string): Set<string> {
  const reached = new Set<string>();
  const waiting = [file];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const name of importsByFile.get(next) ?? []) {
      if (reached.has(name)) continue;
      reached.add(name);
      waiting.push(name);
    }
  }
  return reached;
}

const importsByFile = new Map(sources.map((file) => [file, importsOf(file)]));

const isOurs = (name: string) => name.startsWith('src/') || name.startsWith('connectors/');
const startsWithAny = (name: string, ...starts: string[]) => starts.some((start) => name.startsWith(start));

/** The parts, each before those that build on it. */
const order = [
  'model',
  'support',
  'words',
  'http',
  'connector',
  'connectors',
  'templates',
  'rules',
  'store',
  'lookups',
  'config',
  'printed',
  'deliveries',
  'backtest',
  'receiver',
  'ops',
  'intake',
  'admin',
  'by-hand',
  'scenarios',
  'pages',
  'app',
  'commands',
  'main',
];

const without = (...starts: string[]) => sources.filter((file) => !startsWithAny(file, ...starts));
const joins = ['src/app.ts', 'src/app/', 'src/config/live/reload-worker.ts', 'src/commands/', 'connectors/'];

describe('imports go one way', () => {
  test('the model imports nothing but itself', () => {
    expect(importsOf('src/model.ts')).toEqual([]);
    expect(breaches(within('src/model/'), (name) => name === 'src/model.ts')).toEqual([]);
  });

  test('connectors know only the contract, the model and themselves', () => {
    const folderOf = (file: string) => file.split('/').slice(0, 2).join('/');
    const allowed = (name: string, file: string) =>
      !isOurs(name) ||
      startsWithAny(name, 'src/connector.ts', 'src/model.ts', 'src/model/') ||
      (file.split('/').length > 2 && name.startsWith(`${folderOf(file)}/`));
    expect(
      breaches(
        within('connectors/').filter((file) => file !== 'connectors/index.ts'),
        allowed,
      ),
    ).toEqual([]);
  });

  test('rules and templates touch no clock, file, network, database or logger', () => {
    const allowed = (name: string) =>
      startsWithAny(
        name,
        'src/rules/',
        'src/templates/',
        'src/words/',
        'src/model.ts',
        'src/model/',
        'src/connector.ts',
        'src/support/ids.ts',
        'src/support/json.ts',
        'src/support/text.ts',
      ) || ['zod', 're2js', 'liquidjs'].includes(name);
    const pure = within('src/rules/', 'src/templates/', 'src/words/');
    expect(breaches(pure, allowed)).toEqual([]);
    for (const file of pure)
      expect(readFileSync(join(root, file), 'utf8')).not.toMatch(/Date\.now|new Date\(\)|Math\.random/);
  });

  test('backoff and settling are arithmetic', () => {
    const file = 'src/deliveries/settle.ts';
    const allowed = new Set(['src/config/config.ts', 'src/model.ts', 'src/model/outcomes.ts']);
    expect(breaches([file], (name) => allowed.has(name))).toEqual([]);
    expect(readFileSync(join(root, file), 'utf8')).not.toMatch(/Date\.now|new Date|Math\.random/);
  });

  test('no file outside of connectors names a tool', () => {
    const names = [...connectors.keys()].flatMap((name) => name.split('-'));
    const tool = new RegExp(
      [...names, '(?<!style)sheet', 'smtp', 'gmail', 'e-mail', 'teams'].join('|'),
      'gi',
    );
    const isNoTool = [
      // Where the testing service calls: its own word, and the path that a config has by default.
      /webhook URL|\/webhooks\/candidates/gi,
      // Text of a known form, whoever sends to it: people are named by it, and domains are mistyped.
      /email: '|email address(es)?|'(googlemail|gmail|email)\.com'/g,
      // A server that gives out access tokens, for any sink.
      /'oauth2\.googleapis\.com'/g,
    ];
    const folder = join(root, 'src');
    // Words of a language: people have an email address, and read some of these texts in a mail.
    const isLanguage = /^words\/\w\w\.ts$/;
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (file) => /\.(ts|js|css|sql)$/.test(file) && !isLanguage.test(file),
    );
    const named = files.flatMap((file) => {
      const text = isNoTool.reduce(
        (left, words) => left.replaceAll(words, ''),
        readFileSync(join(folder, file), 'utf8'),
      );
      return Array.from(text.matchAll(tool), ([word]) => `src/${file} names ${word}`);
    });
    expect(named).toEqual([]);
  });

  test('each part knows only those that stand before it', () => {
    const partOf = (name: string) => /^src\/([\w-]+)|^connectors/.exec(name)?.[1] ?? 'connectors';
    const placeOf = (name: string) => order.indexOf(partOf(name));
    const allowed = (name: string, file: string) => !isOurs(name) || placeOf(name) <= placeOf(file);
    expect(new Set(sources.map(partOf))).toEqual(new Set(order));
    expect(breaches(sources, allowed)).toEqual([]);
  });

  test.each([
    [
      'the receiver knows neither rules nor deliveries nor connectors',
      within('src/receiver/'),
      ['src/rules/', 'src/deliveries/', 'src/templates/', 'connectors/'],
    ],
    [
      'pages know no connector or database',
      within('src/pages/'),
      ['connectors/', 'src/store/operations/', 'src/store/sqlite'],
    ],
    [
      'only the admin port leads to pages, and the command that writes one',
      without('src/pages/', 'src/app.ts', 'src/commands/config/backtest.ts'),
      ['src/pages/'],
    ],
    ['connectors are imported only where the parts are joined', without(...joins), ['connectors/']],
    [
      "so are the store's backends",
      without(...joins, 'src/store/', 'src/scenarios/'),
      ['src/store/sqlite', 'src/store/open.ts'],
    ],
    ['no source imports a test, a bench or the sandbox', sources, ['test/', 'bench/', 'sandbox/']],
  ])('%s', (_, files, forbidden) => {
    expect(files).not.toEqual([]);
    expect(breaches(files, (name) => !startsWithAny(name, ...forbidden))).toEqual([]);
  });

  test('there is no circle among files, imports of types included', () => {
    expect(circles()).toEqual([]);
  });

  test('every file was read, and imports are found in it', () => {
    expect(sources.length).toBeGreaterThan(30);
    expect(importsOf('src/app.ts')).toContain('src/store/open.ts');
  });
});
