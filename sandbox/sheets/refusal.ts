/** Thrown for an error as Google documents it: a status, its canonical code, a message, and details for machines. */
export class SheetsRefusal extends Error {
  override readonly name = 'SheetsRefusal';
  readonly code: number;
  readonly status: string;
  readonly reason: string | undefined;
  readonly metadata: { readonly [key: string]: string };

  constructor(code: number, status: string, message: string, reason?: string, metadata = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.reason = reason;
    this.metadata = metadata;
  }

  get body() {
    const info = {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: this.reason,
      domain: 'googleapis.com',
      metadata: { service: 'sheets.googleapis.com', ...this.metadata },
    };
    return {
      error: {
        code: this.code,
        message: this.message,
        status: this.status,
        ...(this.reason !== undefined && { details: [info] }),
      },
    };
  }
}

export const invalid = (message: string) => new SheetsRefusal(400, 'INVALID_ARGUMENT', message);

/** As Sage-Bionetworks/data_curator#110 on GitHub quotes it. */
export const quotaExceeded = (kind: 'Read' | 'Write') =>
  new SheetsRefusal(
    429,
    'RESOURCE_EXHAUSTED',
    `Quota exceeded for quota metric '${kind} requests' and limit '${kind} requests per minute per user' ` +
      "of service 'sheets.googleapis.com' for consumer 'project_number:1234567890'.",
    'RATE_LIMIT_EXCEEDED',
    {
      quota_limit: `${kind}RequestsPerMinutePerUser`,
      quota_metric: `sheets.googleapis.com/${kind.toLowerCase()}_requests`,
      consumer: 'projects/1234567890',
    },
  );
