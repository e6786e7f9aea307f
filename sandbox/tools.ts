import { HttpSandbox } from './http.ts';
import { startSheets, type SheetsOptions } from './sheets.ts';
import { startSlack, type SlackOptions } from './slack.ts';
import { SmtpSandbox } from './smtp.ts';

export type Tools = Awaited<ReturnType<typeof startTools>>;

export interface ToolsOptions {
  readonly slack?: SlackOptions;
  readonly sheets?: SheetsOptions;
}

const atsSecret = `whsec_${Buffer.from('a secret that both sides know').toString('base64')}`;

/** Starts all four tools on loopback, with the environment that `config.example.yaml` needs to reach them. */
export async function startTools(options: ToolsOptions = {}) {
  const [slack, sheets, smtp, http] = await Promise.all([
    startSlack(options.slack),
    startSheets(options.sheets),
    new SmtpSandbox().start(),
    new HttpSandbox({ secret: atsSecret }).start(),
  ]);
  const all = [slack, sheets, smtp, http];
  return {
    slack,
    sheets,
    smtp,
    http,
    faults: all.map(({ faults }) => faults),
    /** The ids of the deliveries that each tool has, once for each time that it has them. */
    received: {
      slack: () => slack.messages.map(({ metadata }) => String(metadata?.event_payload['delivery_id'])),
      sheet: () => sheets.tabs().flatMap((tab) => sheets.rows(tab).map((row) => String(row['Delivery']))),
      mail: () => smtp.mails.map(({ deliveryId }) => deliveryId),
      webhook: () => http.calls.map(({ deliveryId }) => deliveryId),
    },
    env: {
      SLACK_BOT_TOKEN: slack.token,
      SLACK_API_URL: slack.url,
      SHEET_ID: sheets.spreadsheetId,
      SHEETS_API_URL: sheets.url,
      GOOGLE_CREDENTIALS: sheets.credentials,
      SMTP_URL: smtp.url(),
      ATS_URL: http.url,
      ATS_SECRET: atsSecret,
    },
    close: () => Promise.all(all.map((tool) => tool.close())),
  };
}
