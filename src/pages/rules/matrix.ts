import { statuses } from '../../model.ts';
import { html, type Html, safeUrl } from '../../support/html.ts';
import { program } from '../../support/invocation.ts';
import { count, printable } from '../../support/text.ts';
import { chip, commandLine, statusNames } from '../frame/fragments.ts';
import type { ReadableConfig, RouteFields } from './config-shown.ts';

/** A rule's name, linked to its line in the config. */
export function ruleLink(rule: string, { rules: places, lines }: ReadableConfig): Html {
  const line = places.get(rule);
  return line !== undefined && lines !== null
    ? html`<a href="${safeUrl(`/rules#L${line}`)}">${printable(rule)}</a>`
    : html`${printable(rule)}${line !== undefined && ` (line ${line})`}`;
}

const mostRows = 50;
const mostNamed = 6;

/** The table of who hears of which test and status. Tests that are alike share a row, since a catalog may have hundreds. */
export function matrix(routes: readonly RouteFields[] | null, text: ReadableConfig): Html {
  if (routes === null)
    return html`<p class="muted">
      That takes long for so many rules and tests. Load this page again in a moment, or ask
      ${commandLine(`${program} routes`)}
    </p>`;
  const byTest = [...Map.groupBy(routes, ({ testId }) => testId).values()];
  const alike = [
    ...Map.groupBy(byTest, (cells) =>
      JSON.stringify(cells.map(({ testId: _, test: __, ...cell }) => cell)),
    ).values(),
  ];
  const rows = alike.slice(0, mostRows).map((tests) => {
    const names = tests.map((cells) => {
      const { testId, test } = cells[0]!;
      if (testId === null) return byTest.length > 1 ? 'Any other test' : 'Any test';
      return `${typeof test === 'string' ? printable(test) : 'Test'} (${testId})`;
    });
    const more = names.length - mostNamed;
    return html`<tr>
      <th scope="row">
        ${names.slice(0, mostNamed).map((name) => html`<div>${name}</div>`)}
        ${more > 0 && html`<div>and ${count(more, 'more test')}</div>`}
      </th>
      ${tests[0]!.map((cell) => html`<td data-status="${statusNames[cell.status]}">${cellOf(cell, text)}</td>`)}
    </tr>`;
  });
  return html`<div class="table" tabindex="0" role="region" aria-label="Who hears of what">
      <table class="routes">
        <thead>
          <tr>
            <th scope="col">Test</th>
            ${statuses.map((status) => html`<th scope="col">${statusNames[status]}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
    ${
      alike.length > mostRows &&
      html`<p class="muted small">
        ${count(alike.length - mostRows, 'more kind')} of tests: ${commandLine(`${program} routes`)}
      </p>`
    }`;
}

function cellOf(route: RouteFields, text: ReadableConfig): Html {
  const { heardBy, nobody, otherwiseNobody, nobodyIf, meant, twice } = route;
  const otherwise = nobodyIf === null ? 'otherwise nobody' : `nobody if ${printable(nobodyIf)}`;
  const none = (words: string): Html =>
    meant ? html`<p class="muted">${words}, as the config says</p>` : html`<p>${chip('bad', words)}</p>`;
  return html`${heardBy.map(
    ({ rule, sink, place, condition, hours, digest }) =>
      html`<p class="break">
        <b>${printable(sink)}</b> ${printable(place)}
        <span class="muted small"
          >rule
          ${ruleLink(rule, text)}${digest && ', digest'}${hours !== null && `, hours ${printable(hours)}`}${
            condition !== null && `, if ${printable(condition)}`
          }</span
        >
      </p>`,
  )}
  ${nobody ? none('nobody') : otherwiseNobody && none(otherwise)}
  ${twice && html`<p>${chip('wait', 'twice')}</p>`}`;
}
