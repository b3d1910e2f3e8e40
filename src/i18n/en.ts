/** English sentences for end users: short, no technical words, what to do next. */
import type { SentenceKey } from '../contract/sentence.ts'

export const en: Readonly<Record<SentenceKey, string>> = {
  no_answer: 'I could not put an answer together. Please ask again, perhaps in other words.',
  limit_no_answer:
    'I could not finish this in the time and steps I have. Please ask again, perhaps for a smaller part.',
  refused: 'I cannot help with this request.',
  provider_auth: 'The assistant is not set up correctly right now. Please tell the administrator.',
  provider_quota: 'The assistant is not available: its account has no means left. Please tell the administrator.',
  provider_rate_limited: 'The assistant has too many requests right now. Please try again in a minute.',
  provider_overloaded: 'The assistant is overloaded right now. Please try again in a minute.',
  provider_unavailable: 'The assistant cannot be reached right now. Please try again in a minute.',
  provider_timeout: 'The assistant did not answer in time. Please try again.',
  provider_rejected: 'The assistant could not take this request. Please tell the administrator.',
  provider_malformed: 'The assistant gave an answer that could not be read. Please try again.',
  model_not_found: 'The assistant is not set up correctly right now. Please tell the administrator.',
  context_overflow: 'This conversation has become too long for the assistant. Please start a new one.',
  content_blocked: 'This request was blocked by the content filter. Please ask in other words.',
  egress_denied: 'The assistant is not set up correctly right now. Please tell the administrator.',
  engine_shutdown: 'The answer was interrupted by maintenance. Please ask again.',
  engine_restarted: 'The answer was interrupted by a restart. Please ask again.',
  engine_error: 'Something went wrong on our side. Please try again.',
}
