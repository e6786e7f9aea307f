import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { type JsonMap, lookupSink, noFacts } from '../../src/model.ts';
import { sampleEvent, templateData } from '../../src/templates/data.ts';
import { failure } from './tools.ts';

const load = (lookups: string, catalog = '{}') =>
  parseConfig(
    [
      'lookups:',
      lookups.replaceAll(/^/gm, '  '),
      `catalog: ${catalog}`,
      'sinks: { page: { connector: webhook, url: "https://ats.example.com" } }',
      'rules: [ { name: all, when: {}, then: [ { sink: page } ] } ]',
    ].join('\n'),
    'config.yaml',
    { env: { API: 'https://tests.example.com/api', KEY: 'k-0123456789' }, connectors },
  );

/** A look-up with these keys in place of the usual ones. */
const lookup = (over: Record<string, string>, name = 'candidate'): string => {
  const keys = {
    url: '"https://tests.example.com/api/{{ event.candidateId }}"',
    fields: '{ name: { at: /name }, score: { at: /score, type: number } }',
    ...over,
  };
  return [`${name}:`, ...Object.entries(keys).map(([key, value]) => `  ${key}: ${value}`)].join('\n');
};

const askedFor = (config: ReturnType<typeof load>, candidateId: string, catalogEntry: JsonMap = {}) => {
  const composed = config.lookups
    .get(lookupSink('candidate'))!
    .compose(templateData(sampleEvent({ candidateId }, 0), catalogEntry, noFacts, 'candidate', 0));
  return 'message' in composed ? (composed.message as { path: string }).path : composed.rejected.detail;
};

const https = 'expected an address whose host no event can change';

describe('a look-up is refused', () => {
  test.for<[string, string, string]>([
    // An event could change these hosts.
    ['3:10', lookup({ url: '"https://{{ event.candidateId }}.example.com/"' }), https],
    ['3:10', lookup({ url: '"https://tests.example.com{{ event.candidateId }}"' }), https],
    ['3:10', lookup({ url: '"https://tests.example.com:{{ event.testId }}/"' }), https],
    ['3:10', lookup({ url: '"https://tests.example.com@{{ event.candidateId }}/"' }), https],
    ['3:10', lookup({ url: String.raw`"https://tests.example.com\\{{ event.candidateId }}"` }), https],
    ['3:10', lookup({ url: '"{{ event.candidateId }}"' }), https],
    // What follows a # is not sent.
    ['3:10', lookup({ url: '"https://tests.example.com/#/candidates/{{ event.candidateId }}"' }), 'no "#"'],
    ['3:10', lookup({ url: 'ftp://tests.example.com/' }), https],
    ['3:10', lookup({ url: '"http://tests.example.com/{{ event.candidateId }}"' }), 'expected https://'],
    [
      '3:10',
      lookup({ url: '"http://127.0.0.1/{{ event.candidateId }}"' }),
      'this address is not on the internet',
    ],
    [
      '3:10',
      lookup({ url: '"https://127.0.0.1/{{ event.candidateId }}"' }),
      'this address is not on the internet',
    ],
    [
      '3:10',
      lookup({ url: '"https://tests.example.com/../{{ event.candidateId }}"' }),
      'The url leads elsewhere',
    ],
    ['3:40', lookup({ url: '"https://tests.example.com/{{ event.candidatId }}"' }), 'candidatId'],
    [
      '4:27',
      lookup({ fields: '{ name: { at: result.name } }' }),
      'expected a JSON Pointer such as /result/score (write /result/name)',
    ],
    [
      '4:27',
      lookup({ fields: '{ name: { at: "$.a[0].b" } }' }),
      'expected a JSON Pointer such as /result/score (write /a/0/b)',
    ],
    ['4:27', lookup({ fields: '{ name: { at: "/a~2" } }' }), 'expected a JSON Pointer'],
    [
      '4:36',
      lookup({ fields: '{ name: { at: [/first, result.name] } }' }),
      'expected a JSON Pointer such as /result/score (write /result/name)',
    ],
    ['4:27', lookup({ fields: '{ name: { at: [] } }' }), 'expected at least one entry'],
    ['4:27', lookup({ fields: '{ name: { at: 1 } }' }), 'expected a JSON Pointer such as /result/score'],
    [
      '4:28',
      lookup({ fields: '{ score: { at: [/a, /b], type: number } }' }),
      'expected one JSON Pointer, as this is no text: it has `type: number`',
    ],
    [
      '4:21',
      lookup({ fields: '{ name: result.name }' }),
      'expected a map such as { at: /result/name }, got "result.name"',
    ],
    ['4:15', lookup({ fields: '{ a-b: { at: /name } }' }), 'expected a name of letters'],
    ['4:13', lookup({ fields: '{}' }), 'expected at least one field'],
    ['5:13', lookup({ until: '[scor]' }), 'there is no field "scor"; did you mean "score"?'],
    ['5:14', lookup({ waitFor: '8d' }), 'expected a duration of at most 7d'],
    ['5:5', lookup({ unti: '[score]' }), 'unknown key "unti"; did you mean "until"?'],
    ['2:3', lookup({}, 'event'), 'expected another name'],
    ['2:3', lookup({}, 'links'), 'expected another name'],
    ['2:3', lookup({}, 'constructor'), 'expected another name'],
    ['2:3', lookup({}, 'Candidate'), 'expected a name of small letters'],
    [
      '5:38',
      lookup({ retry: '{ minDelay: 5s, maxDelay: 1s }' }),
      'maxDelay (1s) is shorter than minDelay (5s)',
    ],
    [
      '5:13',
      lookup({
        auth: '{ oauth2: { tokenUrl: "https://tests.example.com/t", grant: password, username: u } }',
      }),
      '"password" is missing: expected text',
    ],
    [
      '5:71',
      lookup({
        auth: '{ oauth2: { tokenUrl: "https://tests.example.com/t", grant: client_credentials, clientId: c } }',
      }),
      'expected password; for client credentials, and with a refreshToken, leave grant out',
    ],
  ])('at %s: %s', ([place, text, message]) => {
    const { problems } = failure(() => load(text));
    const found = problems.map((one) => `${one.line}:${one.column} ${one.message}`);
    expect(found).toEqual([expect.stringMatching(new RegExp(`^${place} .*${RegExp.escape(message)}`))]);
  });

  test('where it needs another one, at each place', () => {
    const [name, other] = [
      lookup({}),
      lookup(
        { url: '"https://x.example.com/{{ candidate.name }}"', when: '{ candidate.score: 1 }' },
        'other',
      ),
    ];
    const { problems } = failure(() => load(`${name}\n${other}`));
    const alone = 'so none can use the facts of another, such as "candidate"';
    expect(problems).toEqual([
      expect.objectContaining({ line: 6, column: 36, message: expect.stringContaining(alone) }),
      expect.objectContaining({ line: 8, column: 13, message: expect.stringContaining(alone) }),
    ]);
  });
});

describe('what is asked', () => {
  test('has ids percent-encoded, and asks nothing where one would lead elsewhere or is empty', () => {
    const config = load(lookup({ url: '"${API}/candidates/{{ event.candidateId }}?key=${KEY}"' }));
    expect(askedFor(config, 'a/b?c#d')).toBe('/api/candidates/a%2Fb%3Fc%23d?key=k-0123456789');
    expect(askedFor(config, '@evil.example.com')).toBe(
      '/api/candidates/%40evil.example.com?key=k-0123456789',
    );
    for (const id of ['.', '..']) expect(askedFor(config, id)).toContain('leads elsewhere');
    const byNumber = load(lookup({ url: '"${API}/candidates/{{ event.candidateNumericalId }}"' }));
    expect(askedFor(byNumber, 'a')).toContain('has nothing to print');
  });

  test('has what the catalog says of the test, and the test’s id', () => {
    const url = lookup({ url: '"${API}/{{ test.team }}/{{ test.id }}/{{ event.candidateId }}"' });
    const config = load(url, '{ 1: { team: core }, 2: { name: Two } }');
    expect(askedFor(config, 'a', config.plan.test(1))).toBe('/api/core/1/a');
    expect(askedFor(config, 'a', config.plan.test(2))).toContain('has nothing to print');
  });

  test('and how is today’s, while the plan has what was to be found out', () => {
    const config = load(
      lookup({
        until: '[score]',
        waitFor: '10m',
        keep: '90d',
        rate: '30/min',
        headers: '{ X-Key: "${KEY}" }',
      }),
    );
    const { until } = config.lookups.get('lookup:candidate')!.options;
    const { waitForMs, keepMs, fields } = config.plan.lookups.get('candidate')!;
    expect([until, waitForMs, keepMs, fields.get('score')]).toEqual([
      ['score'],
      600_000,
      90 * 86_400_000,
      { at: '/score', type: 'number', personal: false },
    ]);
    expect(config.lookups.get('lookup:candidate')).toMatchObject({
      pace: { count: 30, perMs: 60_000, burst: 1 },
      retry: { giveUpAfterMs: 600_000 },
      concurrency: 16,
      timeoutMs: 10_000,
    });
    expect(JSON.stringify(config.planSource)).not.toMatch(/example\.com\/api|X-Key/);
    expect(config.mask('k-0123456789')).toBe('***');
  });

  test('warns of credentials that are written in the file', () => {
    const auth =
      '{ oauth2: { tokenUrl: "https://tests.example.com/t", grant: password, username: u, password: pass-0123456 } }';
    const { warnings } = load(
      lookup({ url: '"https://tests.example.com/{{ event.candidateId }}?api_key=K9dkf83kdLs0wq"', auth }),
    );
    expect(
      warnings.filter(({ message }) => message.includes('is written in the file')).map(({ line }) => line),
    ).toEqual([3, 5]);
  });
});
