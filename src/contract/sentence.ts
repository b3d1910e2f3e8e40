/** The fixed sentences for end users, by key; i18n/ holds their words in every ENGINE_LOCALE. */
import type { RunErrorCode } from './errors.ts'

export type SentenceKey =
  | RunErrorCode
  /** The model gave no words. */
  | 'no_answer'
  /** A limit ended the run before there was an answer. */
  | 'limit_no_answer'
  /** The model refused without a word of its own. */
  | 'refused'
