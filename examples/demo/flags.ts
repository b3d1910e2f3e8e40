/**
 * The command line of the demo. Pure: what was typed and the environment go in, what to play comes out. A key is only looked
 * for, never read into anything: the engine reads its own environment.
 */
import { parseArgs } from 'node:util'

const PROVIDERS = ['scripted', 'anthropic', 'openai-compatible'] as const
export type Provider = (typeof PROVIDERS)[number]

/** Who answers in the demo. */
export interface Choice {
  readonly provider: Provider
  readonly model: string
  /** Only with openai-compatible. */
  readonly baseUrl: string | null
  /** US dollars per million tokens; null: no cost is reckoned. */
  readonly pricing: { readonly input: number; readonly output: number } | null
}

export type Flags =
  | { readonly kind: 'help' }
  | { readonly kind: 'play'; readonly choice: Choice }
  /** One sentence. */
  | { readonly kind: 'wrong'; readonly message: string }

export const USAGE = `Usage: npm run demo [-- OPTIONS]

Plays a conversation of a shop with theloop: an order is looked up, a refund waits for an approval, the run goes on.
Without options a scripted model answers: no key, and nothing leaves this machine.

  --provider NAME      scripted (default), anthropic or openai-compatible
  --model NAME         the provider's own name of the model; required unless scripted
  --base-url URL       address of an OpenAI-compatible server, such as http://127.0.0.1:11434/v1
  --pricing IN,OUT     US dollars per million input and output tokens, such as 3,15; without it no cost is shown
  --help               this text

A real provider's key comes from the environment: ANTHROPIC_API_KEY, OPENAI_COMPATIBLE_API_KEY (a local server may need
none). NO_COLOR=1 turns colours off.

  npm run demo -- --provider anthropic --model claude-sonnet-5-5 --pricing 2,10
  npm run demo -- --provider openai-compatible --model qwen3 --base-url http://127.0.0.1:11434/v1
`

type Environment = Readonly<Record<string, string | undefined>>

/** @param typed what stands behind the script's name on the command line */
export function readFlags(typed: readonly string[], environment: Environment): Flags {
  const options = {
    provider: { type: 'string', default: 'scripted' },
    model: { type: 'string' },
    'base-url': { type: 'string' },
    pricing: { type: 'string' },
    help: { type: 'boolean', default: false },
  } as const
  try {
    const { values } = parseArgs({ args: [...typed], options, strict: true, allowPositionals: false })
    return values.help ? { kind: 'help' } : choose(values, environment)
  } catch (error) {
    // Its messages name the option and what is wrong with it, in more sentences than one.
    const [message = ''] = (error instanceof Error ? error.message : String(error)).split('. ')
    return { kind: 'wrong', message }
  }
}

interface Values {
  readonly provider: string
  readonly model?: string | undefined
  readonly 'base-url'?: string | undefined
  readonly pricing?: string | undefined
}

function choose(values: Values, environment: Environment): Flags {
  const provider = PROVIDERS.find((name) => name === values.provider)
  if (provider === undefined)
    return wrong(`--provider must be one of ${PROVIDERS.join(', ')}; got "${values.provider}"`)
  const pricing = values.pricing === undefined ? null : readPricing(values.pricing)
  if (pricing === 'wrong') return wrong('--pricing must be two prices per million tokens, such as 3,15')
  const { model, 'base-url': baseUrl } = values
  if (baseUrl !== undefined && provider !== 'openai-compatible') {
    return wrong('--base-url is only for --provider openai-compatible')
  }
  if (provider === 'scripted') {
    if (model !== undefined) return wrong('--model is for a real provider: give --provider as well')
    return {
      kind: 'play',
      choice: { provider, model: 'shop-script', baseUrl: null, pricing: pricing ?? EXAMPLE_PRICING },
    }
  }
  if (model === undefined) return wrong(`--provider ${provider} needs --model, the provider's own name of the model`)
  if (provider === 'openai-compatible' && !/^https?:\/\/./.test(baseUrl ?? '')) {
    return wrong('--provider openai-compatible needs --base-url, such as http://127.0.0.1:11434/v1')
  }
  if (provider === 'anthropic' && (environment['ANTHROPIC_API_KEY'] ?? '').trim() === '') {
    return wrong('--provider anthropic needs a key: set ANTHROPIC_API_KEY in the environment')
  }
  return { kind: 'play', choice: { provider, model, baseUrl: baseUrl ?? null, pricing } }
}

/** What the scripted model is said to cost, so that there is a cost to see. */
const EXAMPLE_PRICING = { input: 3, output: 15 }

function readPricing(text: string): { input: number; output: number } | 'wrong' {
  const [, input, output] = /^(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$/.exec(text) ?? []
  return input === undefined ? 'wrong' : { input: Number(input), output: Number(output) }
}

function wrong(message: string): Flags {
  return { kind: 'wrong', message }
}
