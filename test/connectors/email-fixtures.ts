import { email } from '../../connectors/email/index.ts';
import type { Mail, MailFields } from '../../connectors/email/message.ts';
import type { AttemptRequest } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import { attemptAt } from '../fixtures/event.ts';

export const fields: MailFields = { to: 'dana@example.com', subject: 'Completed', text: 'Done.' };
export const from = 'Hiring Team <hiring@example.com>';

export function compose(given: MailFields, deliveryId = 'd1') {
  const options = email.options.parse({ url: 'smtp://localhost', from });
  return email.compose(email.action.parse(given), { deliveryId } as never, options);
}

export function mailOf(given: MailFields, deliveryId?: string): Mail {
  const composed = compose(given, deliveryId);
  if ('rejected' in composed) throw new Error(composed.rejected.detail);
  return composed.message;
}

/** An attempt at the mail. `progress`: what an earlier one kept. */
export const request = (
  given: MailFields,
  progress: Json | null = null,
  over: Partial<AttemptRequest<Mail>> = {},
) => attemptAt(compose(given), { now: Date.UTC(2026, 2, 1, 9, 30), progress, ...over });
