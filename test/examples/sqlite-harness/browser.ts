/**
 * One Chromium for all browser tests, each with pages of its own. Skipped where there is none (CHROMIUM_PATH, or
 * /usr/bin/chromium).
 */
import { existsSync } from 'node:fs'
import { after, type TestContext } from 'node:test'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
export const skip = existsSync(executablePath) ? false : 'no Chromium'

let launched: Promise<Browser> | null = null
after(async () => (await launched)?.close())

export interface Tab {
  readonly page: Page
  /** What a page should never say: errors of scripts and of the console. */
  readonly problems: string[]
}

export async function openContext(t: TestContext, settings: BrowserContextOptions = {}): Promise<BrowserContext> {
  launched ??= chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const context = await (await launched).newContext({ viewport: { width: 1200, height: 800 }, ...settings })
  t.after(() => context.close())
  return context
}

/** A page that has been fetched and has said what it can do. */
export async function openTab(context: BrowserContext, url: string): Promise<Tab> {
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (line) => {
    if (line.type() === 'error') problems.push(line.text())
  })
  await page.goto(url)
  await page.waitForSelector('#log > *')
  return { page, problems }
}

/** Waits in the page, frame by frame. The driver's own way evaluates text there, which the page's policy forbids. */
export async function until(page: Page, expression: string): Promise<void> {
  const looks = `new Promise((yes, no) => {
    const end = performance.now() + 15000
    const look = () => {
      if (${expression}) yes(true)
      else if (performance.now() > end) no(new Error('it never came true; the page shows ' + document.body.innerText))
      else requestAnimationFrame(look)
    }
    look()
  })`
  await page.evaluate(looks)
}

export const see = <T>(page: Page, expression: string): Promise<T> => page.evaluate<T>(expression)

export async function ask(page: Page, text: string): Promise<void> {
  await page.fill('#text', text)
  await page.keyboard.press('Enter')
}

/** What stands in the conversation, stored and coming, a line a block. */
export const lastAnswer = `([...document.querySelectorAll('#log .bubble.assistant')].at(-1)?.textContent ?? '')`
export const liveText = `(document.querySelector('#live .bubble')?.textContent ?? '')`
export const isQuiet = `document.querySelector('#stop').hidden && document.querySelector('#live').children.length === 0`
