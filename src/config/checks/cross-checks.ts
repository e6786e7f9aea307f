import { isMap, type JsonMap } from '../../model.ts';
import type { Fault } from '../fault.ts';
import type { FoundSecret } from '../mask.ts';
import type { Parts } from '../parts.ts';
import { actionsOf } from '../plan-source.ts';
import { checkAlertSinks } from './alerts.ts';
import { checkCatalogUse } from './catalog.ts';
import * as checks from './checks.ts';

/** Everything that parts of a config say of each other. `config` is what was written. */
export function crossChecks(
  config: JsonMap,
  { settings, sinks, source, plan }: Parts,
  secrets: readonly FoundSecret[],
): Fault[] {
  const checkSinkUse = (names: readonly string[]): Fault[] => [
    ...checks.checkSinkNames(actionsOf(source), names),
    ...checks.checkExpectations(config['scenarios'], names, sinks),
  ];
  const sinkNames = isMap(config['sinks']) ? Object.keys(config['sinks']) : null;
  return [
    ...checks.checkSettings(settings),
    ...(sinkNames ? checkSinkUse(sinkNames) : []),
    ...checkCatalogUse(source),
    ...checkAlertSinks(source, sinks),
    ...checks.checkDigests(source, settings),
    ...checks.checkSilence(plan, settings),
    ...checks.checkLiteralSecrets(config, secrets),
  ];
}
