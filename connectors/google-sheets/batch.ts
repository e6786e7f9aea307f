import type { Outcome, Retry } from '../../src/model.ts';
import type { Headers } from './headers.ts';
import type { RowRequest } from './plan.ts';
import type { Spreadsheet } from './spreadsheet.ts';
import { companyOf } from './endings.ts';
import { writeRows } from './write.ts';

/**
 * Writes many rows, those of a tab with one call, in order of arrival. A tab that fails leaves the others alone, unless it
 * fails for what concerns them all: then nothing more is called.
 */
export async function writeMany(
  sheet: Spreadsheet,
  headers: Headers,
  requests: readonly RowRequest[],
): Promise<Outcome[]> {
  const outcomes = new Map<RowRequest, Outcome>();
  let failure: Retry | undefined;
  for (const company of Map.groupBy(requests, companyOf).values()) {
    const endings = failure ? [] : await writeRows(sheet, headers, company);
    for (const [request, outcome] of endings) outcomes.set(request, outcome);
    failure ??= endings.map(([, outcome]) => outcome).find(isSinkWide);
  }
  return requests.map((request) => outcomes.get(request) ?? failure!);
}

function isSinkWide(outcome: Outcome): outcome is Retry {
  return outcome.outcome === 'retry' && outcome.sinkWide === true;
}
