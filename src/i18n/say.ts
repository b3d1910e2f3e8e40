/** Picks the language for end users. Every language has every sentence: the type checker sees to it. */
import type { SentenceKey } from '../contract/sentence.ts'
import { en } from './en.ts'
import { ru } from './ru.ts'

export const locales = { en, ru } as const
export type Locale = keyof typeof locales

export function sayIn(locale: Locale): (key: SentenceKey) => string {
  return (key) => locales[locale][key]
}
