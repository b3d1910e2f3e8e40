/** What end users are told, in every language: whole, in its own script, short, and without what only an operator understands. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errors } from '../../src/contract/errors.ts'
import { locales, sayIn, type Locale } from '../../src/i18n/say.ts'

const languages = Object.keys(locales) as Locale[]

/** What the type checker holds the languages to, seen at run time too. */
const keys = Object.keys(locales.en).toSorted()

test('every language has every sentence, and a sentence for every code that a result can fail with', () => {
  assert.ok(languages.length >= 2)
  for (const language of languages) assert.deepEqual(Object.keys(locales[language]).toSorted(), keys, language)
  const codes = Object.entries(errors).flatMap(([code, facts]) => ('http' in facts ? [] : [code]))
  assert.deepEqual(
    codes.filter((code) => !keys.includes(code)),
    [],
  )
})

test('sentences are whole and short, and hold no code, no number and no technical word', () => {
  for (const language of languages) {
    for (const [key, sentence] of Object.entries(locales[language])) {
      const place = `${language} ${key}`
      assert.ok(sentence.length >= 20 && sentence.length <= 140, place)
      assert.equal(sentence, sentence.trim(), place)
      assert.match(sentence, /^\p{Lu}.*\.$/u, place)
      assert.doesNotMatch(sentence, /[_\d{}<>]|\b(?:HTTP|API|token|null|undefined|timeout)\b/i, place)
    }
  }
})

test('each language is written in its own script, and says something of its own under each key', () => {
  for (const sentence of Object.values(locales.ru)) assert.doesNotMatch(sentence, /[A-Za-z]/)
  for (const sentence of Object.values(locales.en)) assert.doesNotMatch(sentence, /[^\x20-\x7e]/)
  for (const language of languages) assert.equal(sayIn(language)('no_answer'), locales[language].no_answer)
  // Where one language tells two codes apart, so does the other.
  const groups = (language: Locale) =>
    keys.map((key) =>
      keys.findIndex((other) => locales[language][other as 'refused'] === locales[language][key as 'refused']),
    )
  for (const language of languages) assert.deepEqual(groups(language), groups('en'), language)
})
