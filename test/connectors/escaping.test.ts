import { describe, expect, test } from 'vitest';
import { email } from '../../connectors/email/index.ts';
import { slack } from '../../connectors/slack/index.ts';
import { webhook } from '../../connectors/webhook/index.ts';
import type { AnyConnector } from '../../src/connector.ts';
import type { JsonMap } from '../../src/model.ts';
import { compileFields } from '../../src/templates/template.ts';
import { dataOf, vocabulary } from '../templates/tools.ts';

/** What a stranger may put into an event, in the message that an action makes of it. */
function messageOf(connector: AnyConnector, action: JsonMap, candidateId: string, raw: JsonMap = {}) {
  const { fields, faults } = compileFields(action, connector.templates, vocabulary);
  expect(faults).toEqual([]);
  const rendered = fields?.render(dataOf({ candidateId, raw }));
  if (!rendered || 'fault' in rendered) throw new Error(rendered?.fault);
  const context = { deliveryId: 'd-1', subject: { kind: 'event', event: {} } } as never;
  const from = 'hiring@example.com';
  return connector.compose(connector.action.parse(rendered.fields), context, { from });
}

describe('an address list of a mail', () => {
  const attack = '<evil@attacker.example>, x';
  const desk = { address: 'desk@example.com' };
  const messageTo = (to: string | string[], candidateId: string, raw?: JsonMap) =>
    messageOf(email, { to, subject: 's', text: 't' }, candidateId, raw);

  test.for<[string, string, object]>([
    [
      'Candidate {{ event.candidateId }} <desk@example.com>',
      attack,
      { name: `Candidate ${attack}`, ...desk },
    ],
    [
      '"{{ event.candidateId }}" <desk@example.com>',
      'a" <b@x.example>, "',
      { name: 'a" <b@x.example>, "', ...desk },
    ],
    ['{{ event.candidateId }} <desk@example.com>', 'a@x.example;', { name: 'a@x.example;', ...desk }],
    ['{{ event.candidateId }} <desk@example.com>', '"', { name: '"', ...desk }],
    ['{{ event.candidateId }} <desk@example.com>', '\\', { name: '\\', ...desk }],
    ['{{ test.name }}, IT <desk@example.com>', 'c', desk],
    [
      `{% capture who %}C. {{ event.candidateId }} <desk@example.com>{% endcapture %}{{ who | strip }}`,
      attack,
      { name: `C. ${attack}`, ...desk },
    ],
    [
      '{% if event.testId %}{{ event.candidateId }} <desk@example.com>{% endif %}',
      attack,
      { name: attack, ...desk },
    ],
  ])('keeps %s to one address for %j', ([to, candidateId, expected]) => {
    const { message } = messageTo(to, candidateId) as { message: { to: unknown[] } };
    expect(message.to).toEqual('name' in expected ? [expected] : [{ name: 'IT', ...desk }]);
  });

  test.for([
    'x@evil.example,y',
    'x>, <evil@attacker.example',
    'a@evil.example, "',
    'evil@attacker.example\n,',
  ])('takes no address apart for the id %j inside of it', (candidateId) => {
    expect(messageTo('Team <{{ event.candidateId }}@example.com>', candidateId)).toMatchObject({
      rejected: {},
    });
    expect(messageTo('{{ event.candidateId }}@example.com', candidateId)).toMatchObject({ rejected: {} });
  });

  test.for(['{{ event.raw.empty }}{{ event.candidateId }}', '{{ event.raw.empty }} {{ event.candidateId }}'])(
    'takes no value of %s for a whole entry, also where the other is empty',
    (entry) => {
      const made = messageTo(`desk@example.com, ${entry}`, attack, { empty: '' });
      expect(JSON.stringify(made)).not.toContain('"evil@attacker.example"');
    },
  );

  test('goes to whom a value says that is a whole entry', () => {
    const raw = { recruiter: 'Dana <dana@example.com>, ben@example.com' };
    const to = 'ops@example.com, {{ event.raw.recruiter }};{{ test.owner }}';
    const people = [
      'ops@example.com',
      { name: 'Dana', address: 'dana@example.com' },
      'ben@example.com',
      'dana@example.com',
    ];
    expect(messageTo(to, 'c', raw)).toMatchObject({ message: { to: people } });
    expect(messageTo(to.split(/[,;]/), 'c', raw)).toMatchObject({ message: { to: people } });
  });

  test('cannot be given unescaped text of an event', () => {
    const to = 'Candidate {{ event.candidateId | raw }} <desk@example.com>';
    const { faults } = compileFields({ to }, email.templates, vocabulary);
    expect(faults).toMatchObject([{ message: expect.stringContaining('`raw` cannot be used') }]);
  });
});

describe('a Slack message', () => {
  const textOf = (text: string, candidateId: string) =>
    (messageOf(slack, { channel: '#a', text }, candidateId) as { message: { text: string } }).message.text;
  const markdownOf = (text: string, candidateId: string) => {
    const blocks = [{ type: 'markdown', text }];
    const { message } = messageOf(slack, { channel: '#a', blocks }, candidateId) as {
      message: { text: string; blocks: { text: string }[] };
    };
    return [message.blocks[0]?.text, message.text];
  };

  test.for([
    [
      '<https://x.example/{{ event.candidateId }}|Open>',
      'a|Approved> b',
      '<https://x.example/a%7CApproved%3E%20b|Open>',
    ],
    ['<https://x.example/?id={{ event.candidateId }}>', 'a|b&c', '<https://x.example/?id=a%7Cb&amp;c>'],
    ['<{{ event.candidateId }}|profile>', '!channel', '<%21channel|profile>'],
    ['<{{ event.candidateId }}>', '@U1', '<%40U1>'],
    ['<{{ event.candidateId }}|profile>', 'https://x.example/a', '<https://x.example/a|profile>'],
    [
      '<https://x.example|{{ event.candidateId }}> {{ event.candidateId }}',
      'a|b',
      '<https://x.example|a|b> a|b',
    ],
    ['1 < {{ event.candidateId }} | 2 > 1', 'a|b', '1 < a|b | 2 > 1'],
  ] as const)('says %s of %j as %s', ([text, candidateId, expected]) => {
    expect(textOf(text, candidateId)).toBe(expected);
  });

  test.for([
    [
      '**{{ event.candidateId }}**',
      '[Approved](https://evil.example)',
      '**\\[Approved\\](https://evil.example)**',
      '**[Approved](https://evil.example)**',
    ],
    ['| {{ event.candidateId }} |', 'a|b*_`~\\', '| a\\|b\\*\\_\\`\\~\\\\ |', '| a|b*_`~\\ |'],
    [
      '{{ event.candidateId }}',
      '<!channel> ![x](y)',
      '&lt;!channel&gt; !\\[x\\](y)',
      '&lt;!channel&gt; ![x](y)',
    ],
    [
      '[open](https://x.example/{{ event.candidateId }})',
      'a) [b](c',
      '[open](https://x.example/a%29%20[b]%28c)',
      '[open](https://x.example/a%29%20[b]%28c)',
    ],
    [
      '<https://x.example/{{ event.candidateId }}>',
      'a> <b',
      '<https://x.example/a%3E%20%3Cb>',
      '<https://x.example/a%3E%20%3Cb>',
    ],
    [
      '[open](https://x.example/{{ event.candidateId }} "Of {{ event.candidateId }}")',
      'a") [b](c',
      '[open](https://x.example/a%22%29%20[b]%28c "Of a\\"\\) \\[b\\]\\(c")',
      '[open](https://x.example/a%22%29%20[b]%28c "Of a") [b](c")',
    ],
    ['`{{ event.candidateId }}`', 'a_b` [c](d)', "`a_b' [c](d)`", "`a_b' [c](d)`"],
  ] as const)('says %s of %j in a markdown block as %s', ([text, candidateId, block, notification]) => {
    expect(markdownOf(text, candidateId)).toEqual([block, notification]);
  });
});

describe("a webhook's body that is text", () => {
  const hostile = `a&status=hired <b attr="'"/>\u0000%\n`;
  const bodyOf = (type: string, body: string) =>
    (
      messageOf(webhook, { headers: { 'content-TYPE': type }, body }, hostile) as {
        message: { body: string };
      }
    ).message.body;

  test('keeps a value within its parameter of a form', () => {
    const body = bodyOf(
      'application/x-www-form-urlencoded; charset=utf-8',
      'id={{ event.candidateId }}&status=new',
    );
    expect([...new URLSearchParams(body)]).toEqual([
      ['id', hostile],
      ['status', 'new'],
    ]);
  });

  test.for(['application/xml', 'text/xml; charset=utf-8', 'application/soap+xml', 'text/html'])(
    'keeps a value within its element or attribute of %s',
    (type) => {
      expect(bodyOf(type, '<id a="{{ event.candidateId }}"/>')).toBe(
        '<id a="a&#38;status=hired &#60;b attr=&#34;&#39;&#34;/&#62;\uFFFD%\n"/>',
      );
    },
  );

  test('is the value itself in plain text, and part of a string otherwise', () => {
    expect(bodyOf('text/plain', '{{ event.candidateId }}')).toBe(hostile);
    expect(JSON.parse(bodyOf('application/vnd.x+json', '"{{ event.candidateId }}"'))).toBe(hostile);
    expect(JSON.parse(bodyOf('text/csv', '"{{ event.candidateId }}"'))).toBe(hostile);
  });

  test('is not escaped twice', () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const action = { headers, body: 'id={{ event.candidateId | url_encode }}' };
    const { faults } = compileFields(action, webhook.templates, vocabulary);
    expect(faults).toMatchObject([
      { column: 27, message: expect.stringContaining('leave out `url_encode`') },
    ]);
  });

  test('has a type that is known when the config is read', () => {
    const headers = { 'Content-Type': 'application/{{ event.raw.type }}' };
    expect(webhook.action.safeParse({ headers }).error?.issues).toMatchObject([{ path: ['headers'] }]);
    const sink = { url: 'https://x.example', headers: { 'content-type': 'text/xml' } };
    expect(webhook.options.safeParse(sink).error?.issues).toMatchObject([{ path: ['headers'] }]);
    const usual = { ...sink, headers: { 'Content-Type': 'application/json; charset=utf-8' } };
    expect(webhook.options.safeParse(usual).success).toBe(true);
  });

  test.for(['application/json; charset=iso-8859-1', 'application/json;Charset="windows-1252"'])(
    'is sent in UTF-8 and refused with %s',
    (type) => {
      const headers = { 'Content-Type': type };
      const expected = [{ path: ['headers'], message: expect.stringContaining('UTF-8') }];
      expect(webhook.action.safeParse({ headers }).error?.issues).toMatchObject(expected);
      const sink = { url: 'https://x.example', headers };
      expect(webhook.options.safeParse(sink).error?.issues).toMatchObject(expected);
    },
  );
});
