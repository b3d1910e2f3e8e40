/** The nine providers: eight that are asked over HTTP, each with a server that obeys its rules, and the one that plays scripts. */
import type { ProviderName } from '../../../src/contract/run-request.ts'
import { anthropic } from './anthropic.ts'
import { deepseek } from './deepseek.ts'
import { gigachat } from './gigachat.ts'
import { glm } from './glm.ts'
import { kimi } from './kimi.ts'
import { minimax } from './minimax.ts'
import { mistral } from './mistral.ts'
import { openai } from './openai.ts'
import { openaiCompatible } from './openai-compatible.ts'
import type { Vendor } from './vendor.ts'

export const vendors: readonly Vendor[] = [anthropic, openai, deepseek, glm, kimi, minimax, gigachat, openaiCompatible]

/** Asked as `openai-compatible`, by the names of their profiles. */
export const namedServers: readonly Vendor[] = [mistral]

export const providers: readonly ProviderName[] = [...vendors.map(({ provider }) => provider), 'scripted']
