/**
 * The page in a real browser: by keyboard, on a phone, in both languages. Skipped where there is no Chromium (CHROMIUM_PATH, or
 * /usr/bin/chromium).
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { openStage } from './chat-stage.ts'

const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
const skip = existsSync(executablePath) ? false : 'no Chromium'

async function openPage(t: TestContext, url: string, settings: BrowserContextOptions = {}) {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  t.after(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, ...settings })
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (line) => {
    if (line.type() === 'error') problems.push(line.text())
  })
  await page.goto(url)
  await page.waitForSelector('.hints button')
  return { page, problems }
}

/** Waits in the page, frame by frame. The driver's own way evaluates text there, which the page's policy forbids. */
async function until(page: Page, expression: string): Promise<void> {
  const looks = `new Promise((yes, no) => {
    const end = performance.now() + 15000
    const look = () => {
      if (${expression}) yes(true)
      else if (performance.now() > end) no(new Error('it never came true'))
      else requestAnimationFrame(look)
    }
    look()
  })`
  await page.evaluate(looks)
}

const lastBubble = `[...document.querySelectorAll('#log .bubble.assistant')].at(-1)?.textContent ?? ''`

test('by keyboard alone: a refund is asked for, approved, and still there after a reload', { skip }, async (t) => {
  const stage = await openStage(t)
  const { page, problems } = await openPage(t, stage.url)
  await page.fill('#text', 'Order 1001 arrived broken, please refund it')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.card.pending')
  assert.equal(
    await page.evaluate(`document.querySelector('.card button').getAttribute('aria-label')`),
    'Approve: Refund €39.90 for order 1001 (blue teapot) to Anna Brown',
  )
  await page.focus('.card .primary')
  await page.keyboard.press('Enter')
  await until(page, `(${lastBubble}).startsWith('It is done: refund R-1001')`)
  await until(page, `document.querySelectorAll('.run').length === 2`)
  assert.equal(await page.evaluate(`document.querySelectorAll('.card.approved').length`), 1)
  assert.equal(
    await page.evaluate(`document.activeElement.classList.contains('approved')`),
    true,
    'focus is at the card',
  )
  const said = await page.evaluate<string>(`document.querySelector('#log').innerText`)
  await page.reload()
  await until(page, `(${lastBubble}).startsWith('It is done')`)
  assert.equal(await page.evaluate(`document.querySelector('#log').innerText`), said)
  assert.deepEqual(problems, [])
})

test('text grows while it comes, Stop ends it, and markup in a message is only text', { skip }, async (t) => {
  const stage = await openStage(t)
  const { page, problems } = await openPage(t, stage.url)
  await page.fill('#text', 'slowly: hello <img src=x onerror="document.title=1">')
  await page.keyboard.press('Enter')
  await until(page, `(document.querySelector('#live .bubble')?.textContent.length ?? 0) > 4`)
  await until(page, `(document.querySelector('#live .bubble')?.textContent.length ?? 0) > 8`)
  await page.click('#stop')
  await page.waitForSelector('.notice')
  assert.equal(await page.evaluate(`document.querySelectorAll('#log img').length`), 0)
  assert.equal(await page.evaluate(`document.querySelector('#live').children.length`), 0)
  assert.equal(await page.evaluate('document.title'), 'Shop assistant')
  assert.deepEqual(problems, [])
})

for (const locale of ['en', 'ru'] as const) {
  test(
    `on a phone, in ${locale}: nothing is wider than the screen, and the list opens and closes`,
    { skip },
    async (t) => {
      const stage = await openStage(t, { locale })
      const { page, problems } = await openPage(t, stage.url, {
        viewport: { width: 360, height: 700 },
        colorScheme: 'dark',
      })
      await page.click('.hints button:nth-child(4)')
      await until(page, `document.querySelectorAll('.card.pending').length === 2`)
      await page.click('.run summary')
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
      const list = `getComputedStyle(document.querySelector('#sidebar')).visibility`
      assert.equal(await page.evaluate(list), 'hidden')
      await page.click('#open-list')
      assert.equal(await page.evaluate(list), 'visible')
      await page.keyboard.press('Escape')
      assert.equal(await page.evaluate(list), 'hidden')
      assert.equal(await page.evaluate('document.documentElement.lang'), locale)
      assert.deepEqual(problems, [])
    },
  )
}
