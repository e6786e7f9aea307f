import { describe, expect, test } from 'vitest';
import type { ChangeKind } from '../../src/model.ts';
import { changeList } from '../../src/pages/changes/done.ts';
import type { Times } from '../../src/pages/frame/times.ts';
import { html, pathWith, safeUrl } from '../../src/support/html.ts';

const hostile = `<script>alert(1)</script>"'&`;
const shown = '&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;';

describe('what stands in a page', () => {
  test('is text, unless it was made here', () => {
    expect(html`<b>${hostile}</b>`.text).toBe(`<b>${shown}</b>`);
    expect(html`<b title="${hostile}">x</b>`.text).toBe(`<b title="${shown}">x</b>`);
    expect(html`<b>${html`<i>${hostile}</i>`}</b>`.text).toBe(`<b><i>${shown}</i></b>`);
    expect(html`${['a', html`<br />`, hostile]}`.text).toBe(`a<br />${shown}`);
    expect(html`<b>${null}${undefined}${false}${''}${0}</b>`.text).toBe('<b>0</b>');
    expect(html`<iframe srcdoc="${html`<b>${'"'}</b>`}"></iframe>`.text).toBe(
      '<iframe srcdoc="&lt;b&gt;&amp;quot;&lt;/b&gt;"></iframe>',
    );
  });

  test('links only to pages', () => {
    expect(html`<a href="/events/${'../x?"'}">x</a>`.text).toBe('<a href="/events/..%2Fx%3F%22">x</a>');
    expect(html`<a href="${safeUrl('https://x.example/?a=1&b=2')}">x</a>`.text).toBe(
      '<a href="https://x.example/?a=1&amp;b=2">x</a>',
    );
    expect(html`<a href="${pathWith('/events', { q: '"<&', none: '', zero: 0 })}">x</a>`.text).toBe(
      '<a href="/events?q=%22%3C%26&amp;zero=0">x</a>',
    );
    for (const url of [
      'javascript:alert(1)',
      ' JaVaScRiPt:alert(1)',
      'java\nscript:1',
      'data:text/html,x',
      'vbscript:x',
    ])
      expect(safeUrl(url)).toBeNull();
    expect(() => html`<a href="${'https://x.example'}">x</a>`).toThrow('safeUrl');
    expect(() => html`<a href="//${'x'}">x</a>`).toThrow('of this site');
  });

  test.each([
    ['<script>', ';</script>', 'No value may stand here'],
    ['<style>a { color: ', ' }</style>', 'No value may stand here'],
    ['<b onclick="', '">x</b>', 'No value may stand here'],
    ['<b style="', '">x</b>', 'No value may stand here'],
    ['<b title=', '>x</b>', 'No value may stand here'],
    ['<b ', '>x</b>', 'only markup of ours'],
  ])('does not stand where it could act: %s…%s', (before, after, said) => {
    const around = Object.assign([before, after], { raw: [before, after] });
    expect(() => html(around, 'x')).toThrow(said);
  });

  test('may be an attribute of ours, or none', () => {
    expect(html`<input ${html`checked`} ${false} />`.text).toBe('<input checked  />');
  });
});

test('what people changed is said of messages, or of events where nobody says what its deliveries are', () => {
  const times = { exact: () => '26 Nov, 23:11:25' } as unknown as Times;
  const said = (action: ChangeKind, ...deliveries: string[]) => {
    const change = {
      id: 1,
      at: 0,
      who: 'Dana',
      from: 'the page',
      action,
      note: null,
      sink: null,
      deliveries,
    };
    return changeList([change], times, true)
      .text.replaceAll(/<[^>]*>|\s+/g, ' ')
      .replaceAll(/ +/g, ' ');
  };
  expect(said('replay', 'dlv_a_0', 'dlv_a_1')).toContain('replay of 2 messages by Dana');
  // The deliveries of an event that came as it is taken in: with look-ups, these.
  expect(said('accept', 'dlv_a_0', 'dlv_a_1')).toMatch(/accept of 1 event by Dana .* Its event/);
  expect(said('lookup', 'dlv_a_5', 'dlv_b_5')).toMatch(/lookup of 2 events by Dana .* One of their events/);
  expect(said('pause')).toContain('pause by Dana');
});
