/**
 * The recorded answers of real providers, and what is known of each. They are not part of this repository: RECORDINGS_DIR names
 * their folder. Where there is none the list is empty, and each test that wants one says that it was skipped.
 */
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Json } from '../../src/contract/json.ts'
import { dialectCall } from '../providers/dialect-call.ts'
import { gigachatCall } from '../providers/gigachat/gigachat-call.ts'

/** The protocols of the recordings, each with the attempt that its answers are read for. */
const CALLS = {
  'anthropic-messages': dialectCall({ provider: 'anthropic' }),
  'openai-chat': dialectCall({ provider: 'openai-compatible' }),
  'openai-responses': dialectCall({ provider: 'openai', model: 'gpt-5.5' }),
  'gigachat-v1': gigachatCall(),
  'gigachat-v2': gigachatCall(),
} as const

export type Api = keyof typeof CALLS

/** Facts as they were written down by whoever recorded: see INDEX.md beside them. */
export type Expected = { readonly [fact: string]: Json | undefined }

export interface Recording {
  /** Below the folder; it names the recording. */
  readonly file: string
  readonly provider: string
  readonly api: Api
  readonly kind: 'stream' | 'json' | 'error'
  readonly http_status: number
  readonly headers: Readonly<Record<string, string>> | null
  readonly expected: Expected
}

export const folder = process.env['RECORDINGS_DIR'] ?? resolve(import.meta.dirname, '../../../shared/fixtures')

type Index = { readonly files: Readonly<Record<string, Omit<Recording, 'file'>>> }

function readIndex(): readonly Recording[] {
  const index = resolve(folder, 'expected.json')
  if (!existsSync(index)) return []
  const { files } = JSON.parse(readFileSync(index, 'utf8')) as Index
  return Object.entries(files).map(([file, recording]) => ({ ...recording, file }))
}

export const recordings = readIndex()

/** What a test without recordings is skipped with; false where there are some. */
export const skipped = recordings.length === 0 && `0 recordings read: none in ${folder} (RECORDINGS_DIR)`

export function bytesOf({ file }: Pick<Recording, 'file'>): Buffer {
  return readFileSync(resolve(folder, file))
}

export function callOf({ api }: Pick<Recording, 'api'>): (typeof CALLS)[Api] {
  return CALLS[api]
}

/** `anthropic 66, openai 65, …`: how many recordings of each provider. */
export function perProvider(list: readonly Recording[]): string {
  const counts = Map.groupBy(list, ({ provider }) => provider)
  return [...counts].map(([provider, of]) => `${provider} ${of.length}`).join(', ')
}
