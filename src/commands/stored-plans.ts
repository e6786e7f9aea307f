import { connectors } from '../../connectors/index.ts';
import { compilePlan, Plans } from '../config/stored-plans.ts';
import type { Store } from '../store/store.ts';
import type { Io } from './io.ts';

/** The plans that stored events were decided by, with today's environment. */
export function storedPlans(store: Pick<Store, 'config'>, { env }: Io): Plans {
  return new Plans(
    (configId) => store.config(configId),
    (source) => compilePlan(source, { env, connectors }),
  );
}
