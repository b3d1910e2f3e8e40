/**
 * Every error code a caller can see. The key is the `code` on the wire and a row of SPEC §11; `test/documents.test.ts` fails
 * when the two lists differ. `http` stands where the code is an HTTP answer; a code without it is the `error.code` of a
 * `failed` result, whose sentence for the end user comes from i18n/ under the same key.
 */
interface Facts {
  readonly http?: number
  /** What repeating the same thing can do: nothing, help later, or help after something was mended. */
  readonly retry: 'never' | 'later' | 'after_mending'
}

export const errors = {
  invalid_request: { http: 400, retry: 'after_mending' },
  ticket_mismatch: { http: 400, retry: 'never' },
  ticket_expired: { http: 400, retry: 'never' },
  unauthorized: { http: 401, retry: 'after_mending' },
  forbidden: { http: 403, retry: 'never' },
  not_found: { http: 404, retry: 'never' },
  run_not_found: { http: 404, retry: 'never' },
  method_not_allowed: { http: 405, retry: 'never' },
  idempotency_conflict: { http: 409, retry: 'never' },
  run_active: { http: 409, retry: 'later' },
  result_pending: { http: 409, retry: 'after_mending' },
  no_callback: { http: 409, retry: 'never' },
  call_closed: { http: 410, retry: 'never' },
  too_large: { http: 413, retry: 'after_mending' },
  unsupported_media_type: { http: 415, retry: 'after_mending' },
  overloaded: { http: 429, retry: 'later' },
  internal: { http: 500, retry: 'later' },
  draining: { http: 503, retry: 'later' },
  state_unavailable: { http: 503, retry: 'later' },

  provider_auth: { retry: 'after_mending' },
  provider_quota: { retry: 'after_mending' },
  provider_rate_limited: { retry: 'later' },
  provider_overloaded: { retry: 'later' },
  provider_unavailable: { retry: 'later' },
  provider_timeout: { retry: 'later' },
  provider_rejected: { retry: 'after_mending' },
  provider_malformed: { retry: 'later' },
  model_not_found: { retry: 'after_mending' },
  context_overflow: { retry: 'after_mending' },
  content_blocked: { retry: 'never' },
  egress_denied: { retry: 'after_mending' },
  engine_shutdown: { retry: 'later' },
  engine_restarted: { retry: 'later' },
  engine_error: { retry: 'later' },
} as const satisfies Record<string, Facts>

export type ErrorCode = keyof typeof errors
/** The codes a `failed` result can carry. */
export type RunErrorCode = { [K in ErrorCode]: (typeof errors)[K] extends { http: number } ? never : K }[ErrorCode]
export type HttpErrorCode = Exclude<ErrorCode, RunErrorCode>

/** One fault of a request. `path` is a JSON path such as `messages[3].content[0].text`, `''` for the whole body. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** The body of every error answer. */
export interface ErrorBody {
  readonly error: {
    readonly code: HttpErrorCode
    readonly message: string
    readonly details?: readonly Fault[]
    readonly run_id?: string
  }
}
