/** The page in a real browser: what a customer does with it, and what it must bear. Every wait is for a fact. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { ask, isQuiet, lastAnswer, liveText, openContext, openTab, see, skip, until } from './browser.ts'
import { openStage, sharedStage } from './chat-stage.ts'

const REFUND = 'Order 1001 arrived broken, please refund it'
/** More than a second of talk. */
const LONG = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ')

const shared = sharedStage((stage) => {
  stage.addAssistant('talker', [[{ text: LONG, chunk: 6, pace_ms: 30 }]])
  stage.addAssistant('broken', [{ attempts: [[{ status: 400 }]] }])
})

/** Most tests share an engine and a harness, each with a conversation and a browser context of its own. */
async function openPage(t: TestContext, settings: BrowserContextOptions & { readonly assistant?: string } = {}) {
  const stage = await shared()
  const { assistant = 'scripted', ...browserSettings } = settings
  const context = await openContext(t, browserSettings)
  const tab = await openTab(context, stage.url)
  await tab.page.selectOption('#assistant', assistant)
  return { stage, context, ...tab }
}

const grown = (length: number) => `${liveText}.length > ${length}`
const startsWith = (text: string) => `${lastAnswer}.startsWith(${JSON.stringify(text)}) && ${isQuiet}`
const users = (page: Page) =>
  see<string[]>(page, `[...document.querySelectorAll('.bubble.user')].map((each) => each.textContent)`)
const answers = (page: Page) =>
  see<string[]>(page, `[...document.querySelectorAll('#log .bubble.assistant')].map((each) => each.textContent)`)
const conversation = (page: Page) => see<string>(page, `document.querySelector('#log').innerText`)
const statusSays = (text: string) => `document.querySelector('#status').textContent.startsWith(${JSON.stringify(text)})`

test('text grows while it comes, and Stop ends it half-way and keeps what was said', { skip }, async (t) => {
  const { page, problems } = await openPage(t, { assistant: 'talker' })
  await ask(page, 'talk')
  await until(page, grown(10))
  const early = await see<string>(page, liveText)
  await until(page, grown(early.length + 20))
  await page.click('#stop')
  await until(page, `document.querySelector('.notice.cancelled') !== null && ${isQuiet}`)
  const kept = await see<string>(page, lastAnswer)
  assert.ok(kept.length > early.length && kept.length < LONG.length && LONG.startsWith(kept), kept)
  await until(page, `document.activeElement.id === 'text'`)
  assert.deepEqual(problems, [])
})

test(
  'what is typed while it answers ends that answer and is answered; both are there in order',
  { skip },
  async (t) => {
    const { page, problems } = await openPage(t)
    await ask(page, 'slowly: hello')
    await until(page, grown(4))
    await ask(page, 'Where is order 1001?')
    await until(page, startsWith('Order 1001 is delivered'))
    assert.deepEqual(await users(page), ['slowly: hello', 'Where is order 1001?'])
    assert.equal(await see(page, `document.querySelectorAll('.notice.cancelled').length`), 1)
    assert.deepEqual(problems, [])
  },
)

test('by keyboard alone: a refund is asked for, approved, and still there after a reload', { skip }, async (t) => {
  const { page, problems } = await openPage(t)
  await page.keyboard.press('Tab')
  await page.focus('body')
  for (let presses = 0; (await see(page, 'document.activeElement.id')) !== 'text'; presses += 1) {
    assert.ok(presses < 20, 'the text field is never reached')
    await page.keyboard.press('Tab')
  }
  await page.keyboard.type(REFUND)
  await page.keyboard.press('Enter')
  await page.waitForSelector('.card.pending')
  const effect = 'Refund €39.90 for order 1001 (blue teapot) to Anna Brown'
  for (let presses = 0; (await see(page, 'document.activeElement.textContent')) !== 'Approve'; presses += 1) {
    assert.ok(presses < 20, 'the button is never reached')
    await page.keyboard.press('Shift+Tab')
  }
  assert.equal(await see(page, `document.activeElement.getAttribute('aria-label')`), `Approve: ${effect}`)
  await page.keyboard.press('Enter')
  await until(page, startsWith('It is done: refund R-1001 of €39.90'))
  await until(page, `document.querySelectorAll('.run').length === 2`)
  assert.equal(await see(page, `document.querySelectorAll('.card.approved').length`), 1)
  assert.equal(await see(page, `document.activeElement.classList.contains('approved')`), true, 'focus is at the card')
  const said = await conversation(page)
  await page.reload()
  await until(page, startsWith('It is done'))
  assert.equal(await conversation(page), said)
  assert.deepEqual(problems, [])
})

test('a declined refund says so, and the answer knows', { skip }, async (t) => {
  const { page, stage, problems } = await openPage(t)
  await ask(page, REFUND)
  await page.click('.card.pending button:not(.primary)')
  await until(page, startsWith('A colleague has looked at it and declined'))
  assert.equal(await see(page, `document.querySelector('.card.declined h2').textContent`), 'Declined')
  assert.equal(stage.database.all`SELECT 1 FROM refund`.length, 0)
  assert.deepEqual(problems, [])
})

test('a card that is ignored stays while the talk goes on, and can be approved afterwards', { skip }, async (t) => {
  const { page, stage, problems } = await openPage(t)
  await ask(page, REFUND)
  await page.waitForSelector('.card.pending')
  await ask(page, 'How long does delivery take?')
  await until(page, startsWith('Delivery. Delivery takes'))
  const remark = await see<string>(page, `document.querySelector('.card.pending small').textContent`)
  assert.match(remark, /^The conversation went on; this can still be decided\. It can be decided until \w+ \d+, /)
  await page.click('.card.pending .primary')
  await until(page, startsWith('Your earlier request has been decided'))
  assert.equal(stage.database.all`SELECT 1 FROM refund`.length, 1)
  assert.deepEqual(
    await users(page),
    [REFUND, 'How long does delivery take?'],
    'what the harness says is not shown as hers',
  )
  assert.deepEqual(problems, [])
})

test('two cards of one answer are decided in the other order, and one answer follows', { skip }, async (t) => {
  const { page, problems } = await openPage(t)
  await ask(page, 'Refund 1001 and cancel 1003')
  await until(page, `document.querySelectorAll('.card.pending').length === 2`)
  await page.click('.card.pending >> nth=1 >> .primary')
  await until(page, `document.querySelectorAll('.card')[1].classList.contains('approved')`)
  assert.equal(await see(page, isQuiet), true, 'nothing is said before the other is decided')
  await page.click('.card.pending .primary')
  await until(page, `${lastAnswer}.includes('refund R-1001') && ${lastAnswer}.includes('1003 is cancelled')`)
  assert.equal(await see(page, `document.querySelectorAll('.card.approved').length`), 2)
  assert.deepEqual(problems, [])
})

test('a card whose time is over is refused with words, and nothing is carried out', { skip }, async (t) => {
  const { page, stage } = await openPage(t)
  await ask(page, REFUND)
  await page.waitForSelector('.card.pending')
  stage.database.run`UPDATE operation SET expires_at = '2026-01-01T00:00:00.000Z' WHERE status = 'pending'`
  await page.click('.card.pending .primary')
  await until(page, statusSays('The time to decide is over. Nothing was done'))
  await until(page, startsWith('Nobody decided in time'))
  assert.equal(
    await see(page, `document.querySelector('.card.expired small').textContent`),
    'Nobody decided in time. Nothing was carried out.',
  )
  assert.equal(stage.database.all`SELECT 1 FROM refund`.length, 0)
})

test('two tabs of one conversation show the same, whoever of them speaks or decides', { skip }, async (t) => {
  const { page, context, problems } = await openPage(t)
  await ask(page, REFUND)
  await page.waitForSelector('.card.pending')
  const other = await openTab(context, page.url())
  await other.page.waitForSelector('.card.pending')
  await other.page.click('.card.pending .primary')
  await until(page, startsWith('It is done'))
  await until(other.page, startsWith('It is done'))
  await ask(page, 'Where is order 1002?')
  await until(other.page, startsWith('Order 1002 is on its way'))
  await until(page, startsWith('Order 1002 is on its way'))
  assert.equal(await conversation(other.page), await conversation(page))
  assert.deepEqual([...problems, ...other.problems], [])
})

/** Every frame from now on: what is coming is always a beginning of what will be. */
const watchLive = `window.wrong = []; (function look() {
  const text = ${liveText}
  if (!${JSON.stringify(LONG)}.startsWith(text)) window.wrong.push(text)
  requestAnimationFrame(look)
})()`

test(
  'a reload in mid-stream goes on where the answer is: nothing is doubled and nothing is missing',
  { skip },
  async (t) => {
    const { page, problems } = await openPage(t, { assistant: 'talker' })
    await ask(page, 'talk')
    await until(page, grown(60))
    const before = (await see<string>(page, liveText)).length
    await page.reload()
    await see(page, watchLive)
    await until(page, grown(before))
    await until(page, startsWith('word0'))
    assert.deepEqual(await answers(page), [LONG])
    assert.deepEqual([await users(page), await see(page, 'window.wrong')], [['talk'], []])
    assert.deepEqual(problems, [])
  },
)

test(
  'offline in mid-stream and back: nothing is lost or doubled, of the answer or of what was typed',
  { skip },
  async (t) => {
    const { page, context, stage } = await openPage(t, { assistant: 'talker' })
    await ask(page, 'talk')
    await until(page, grown(60))
    const id = (await see<string>(page, 'location.hash')).slice(1)
    await context.setOffline(true)
    await ask(page, 'and once more')
    await until(page, statusSays('The server cannot be reached'))
    assert.equal(await see(page, `document.querySelectorAll('.bubble.unsent').length`), 1)
    // Long enough for the answer to end without a reader.
    await stage.until(id, ({ status, items }) => status === 'idle' && items.length > 1)
    await context.setOffline(false)
    await until(page, `document.querySelectorAll('#log .bubble.assistant').length === 2 && ${isQuiet}`)
    assert.deepEqual(
      [await users(page), await answers(page)],
      [
        ['talk', 'and once more'],
        [LONG, LONG],
      ],
    )
    assert.equal(await see(page, `document.querySelector('#status').textContent`), '')
  },
)

test(
  'a server that is not ready, or knows nobody any more, is no end: the page is back by itself',
  { skip },
  async (t) => {
    const { page, context, stage } = await openPage(t)
    const refused = { status: 503, contentType: 'application/json', body: '{"error":"not connected yet"}' }
    const isRefused = page.waitForResponse((response) => response.status() === 503)
    await context.route('**/api/events', (route) => route.fulfill(refused), { times: 1 })
    await page.reload()
    await isRefused
    const { page: other } = await openTab(context, stage.url)
    await ask(other, 'Where is order 1003, please?')
    await page.waitForSelector('#sessions button[title="Where is order 1003, please?"]')
    await other.close()
    await context.route('**/messages', (route) => route.fulfill(refused), { times: 1 })
    await ask(page, 'Where is order 1001, please?')
    await until(page, startsWith('Order 1001 is delivered'))
    assert.deepEqual(await users(page), ['Where is order 1001, please?'])

    await context.clearCookies()
    await page.click('#sessions button')
    await page.waitForSelector('.bubble.user')
    assert.equal((await context.cookies()).length, 1)
  },
)

for (const keeps of [false, true]) {
  test(
    `an engine killed in mid-run and started again ${keeps ? 'with' : 'without'} STATE_DIR: a message says so, and the talk goes on`,
    { skip },
    async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'state-'))
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const stage = await openStage(t, { environment: keeps ? { STATE_DIR: folder } : {} })
      stage.addAssistant('talker', [[{ text: LONG, chunk: 6, pace_ms: 30 }]])
      const { page } = await openTab(await openContext(t), stage.url)
      await page.selectOption('#assistant', 'talker')
      await ask(page, 'talk')
      await until(page, grown(20))
      await stage.killEngine()
      await stage.restartEngine()
      await page.waitForSelector(keeps ? '.notice.failed' : '.notice.lost')
      await page.click('.notice button')
      await until(page, startsWith(LONG))
      await ask(page, 'again')
      await until(page, `document.querySelectorAll('#log .bubble.assistant').length === 2 && ${isQuiet}`)
      assert.deepEqual(
        [await users(page), await answers(page)],
        [
          ['talk', 'again'],
          [LONG, LONG],
        ],
      )
    },
  )
}

test('a run that failed is told as a message of the system, and can be tried again', { skip }, async (t) => {
  const { page, problems } = await openPage(t, { assistant: 'broken' })
  await ask(page, 'hello')
  await page.waitForSelector('.notice.failed button')
  assert.match(
    await see(page, `document.querySelector('.notice').textContent`),
    /^No answer could be had: .+Try again$/,
  )
  await page.click('.notice button')
  await until(page, `document.querySelectorAll('.notice.failed').length === 2`)
  assert.equal(
    await see(page, `document.querySelectorAll('.notice button').length`),
    1,
    'only the newest can be tried again',
  )
  assert.deepEqual([await users(page), problems], [['hello'], []])
})

test(
  'the list leads from one conversation to another, and says which one waits for a decision',
  { skip },
  async (t) => {
    const { page, problems } = await openPage(t)
    await ask(page, 'cancel 1003 today')
    await page.waitForSelector('.card.pending')
    await page.click('#new')
    await page.waitForSelector('.hints')
    assert.equal(await see(page, 'document.activeElement.id'), 'text')
    await ask(page, 'Where is order 1002 today?')
    await until(page, startsWith('Order 1002 is on its way'))
    const entry = (title: string) => `#sessions button[title="${title}"]`
    await page.waitForSelector(`${entry('Where is order 1002 today?')}[aria-current=true]`)
    const mark = `document.querySelector('${entry('cancel 1003 today')} .mark').getAttribute('aria-label')`
    assert.equal(await see(page, mark), 'needs a decision')
    await page.click(entry('cancel 1003 today'))
    await page.waitForSelector('.card.pending')
    assert.deepEqual([await users(page), problems], [['cancel 1003 today'], []])
  },
)

test('the panel of a run shows its steps, attempts, tokens and cost, and stays open', { skip }, async (t) => {
  const { page, problems } = await openPage(t)
  await ask(page, 'Where is order 1001?')
  await page.click('.run summary')
  assert.match(
    await see(page, `document.querySelector('.run summary').textContent`),
    /^2 steps · [\d,]+ tokens · \$0\.00\d+$/,
  )
  const rows = await see<string[][]>(
    page,
    `[...document.querySelectorAll('.run tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))`,
  )
  assert.deepEqual(
    rows.map(([step, second]) => [step, second]),
    [
      ['1', '1'],
      ['2', '1'],
      ['1', 'getOrder'],
    ],
  )
  assert.match(rows[0]?.join(' ') ?? '', /^1 1 scripted shop ok \d+ 0 \d+ [\d.]+ sec \$0\.00\d+$/)
  await ask(page, 'Which orders do I have?')
  await until(page, startsWith('You have 3 orders:'))
  assert.equal(await see(page, `document.querySelector('.run').open`), true)
  assert.deepEqual(problems, [])
})

test('a reader of the screen hears each item once, and nothing of the text while it comes', { skip }, async (t) => {
  const { page } = await openPage(t, { assistant: 'talker' })
  assert.deepEqual(
    await see(
      page,
      `['log', 'status'].map((id) => [document.getElementById(id).getAttribute('role'), document.getElementById(id).closest('[hidden]')])`,
    ),
    [
      ['log', null],
      ['status', null],
    ],
  )
  const nameless = `[...document.querySelectorAll('button, select, textarea, nav, [role=log]')].filter((each) => (each.textContent.trim() || each.getAttribute('aria-label') || each.labels?.[0]?.textContent || '').trim() === '').map((each) => each.id)`
  assert.deepEqual(await see(page, nameless), [])
  await see(
    page,
    `window.heard = []; new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) window.heard.push(node.textContent.slice(0, 5))
  }).observe(document.querySelector('#log'), { childList: true, subtree: true, characterData: true })`,
  )
  await ask(page, 'talk')
  await until(page, grown(100))
  assert.deepEqual(await see(page, 'window.heard'), ['talk'])
  assert.equal(
    await see(page, `document.querySelector('#live').closest('[aria-live], [role=log], [role=status]')`),
    null,
  )
  await until(page, startsWith(LONG))
  assert.deepEqual(await see(page, 'window.heard'), ['talk', 'word0', '1 ste'])
})

test(
  'an answer is Markdown without markup: nothing in it runs, loads or leads to anything but http',
  { skip },
  async (t) => {
    const { page, problems } = await openPage(t)
    await ask(page, 'hello <img src=x onerror="document.title=1">')
    await until(page, startsWith('Hello!'))
    assert.deepEqual(await users(page), ['hello <img src=x onerror="document.title=1">'])
    const text = [
      '# Title **bold**',
      'A *word*, `code <b>`, [a page](https://shop.example.com/a?b=1&c) and [no](javascript:alert(1)).',
      '<img src=x onerror="document.title=1"> ![x](https://evil.example.com/x.png) 2 * 3 * 4',
      '',
      '- one\n  - inner\n- two',
      '',
      '| a | b |\n|---|---|\n| 1 | <script>document.title=1</script> |',
      '',
      '```\n**raw**\n\n<i>\n```',
    ].join('\n')
    const shown = await see<string>(
      page,
      `(async () => {
    const { showMarkdown } = await import('/markdown.js')
    const place = document.createElement('div')
    document.querySelector('#log').append(place)
    for (let length = 0; length <= ${text.length}; length += 7) showMarkdown(place, ${JSON.stringify(text)}.slice(0, length))
    showMarkdown(place, ${JSON.stringify(text)})
    const grown = place.innerHTML
    showMarkdown(place, '')
    showMarkdown(place, ${JSON.stringify(text)})
    return grown === place.innerHTML ? grown : 'differs when it grows: ' + grown
  })()`,
    )
    assert.equal(
      shown.replaceAll(/ (title|target|rel|tabindex|role)="[^"]*"/g, ''),
      '<p class="heading">Title <strong>bold</strong></p>' +
        '<p>A <em>word</em>, <code>code &lt;b&gt;</code>, <a href="https://shop.example.com/a?b=1&amp;c">a page</a> and [no](javascript:alert(1)).\n' +
        '&lt;img src=x onerror="document.title=1"&gt; !<a href="https://evil.example.com/x.png">x</a> 2 * 3 * 4</p>' +
        '<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>' +
        '<div class="tables"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>&lt;script&gt;document.title=1&lt;/script&gt;</td></tr></tbody></table></div>' +
        '<pre><code>**raw**\n\n&lt;i&gt;</code></pre>',
    )
    assert.equal(await see(page, 'document.title'), 'Shop assistant')
    assert.deepEqual(problems, [])
  },
)

test(
  'in a long conversation nothing is made anew but what is new, and who reads further up is left there',
  { skip },
  async (t) => {
    const { page, stage, problems } = await openPage(t)
    const session = await stage.newSession('talker')
    for (let turn = 0; turn < 300; turn += 1)
      stage.harness.conversation.said(session, `msg_${session}_${turn}`, 'customer', `message ${turn}`)
    const { page: long } = await openTab(page.context(), `${stage.url}/#${session}`)
    await until(long, `document.querySelectorAll('#log .bubble').length === 300`)
    const fromEnd = `(document.querySelector('#scroll').scrollHeight - innerHeight - document.querySelector('#scroll').scrollTop)`
    assert.ok((await see<number>(long, fromEnd)) < 80)
    await see(long, `window.first = [...document.querySelectorAll('#log .bubble')]`)
    await ask(long, 'talk')
    await until(long, grown(50))
    assert.ok((await see<number>(long, fromEnd)) < 80, 'it follows what comes')
    await see(long, `document.querySelector('#scroll').scrollTop = 200`)
    await until(long, `!document.querySelector('#to-end').hidden`)
    await until(long, startsWith(LONG))
    assert.equal(await see(long, `document.querySelector('#scroll').scrollTop`), 200)
    assert.equal(await see(long, `window.first.every((each) => each.isConnected)`), true)
    await long.click('#to-end')
    await until(long, `document.querySelector('#to-end').hidden`)
    assert.deepEqual(problems, [])
  },
)

for (const locale of ['en', 'ru'] as const) {
  test(
    `on a phone, in ${locale}: nothing is wider than the screen, and the list opens and closes`,
    { skip },
    async (t) => {
      const stage = locale === 'en' ? await shared() : await openStage(t, { locale })
      const context = await openContext(t, {
        viewport: { width: 360, height: 700 },
        colorScheme: 'dark',
        reducedMotion: 'reduce',
      })
      const { page, problems } = await openTab(context, stage.url)
      await page.click('.hints button:nth-child(4)')
      await until(page, `document.querySelectorAll('.card.pending').length === 2`)
      await page.click('.run summary')
      assert.equal(await see(page, 'document.documentElement.scrollWidth <= innerWidth'), true)
      assert.equal(
        await see(
          page,
          `Math.min(...[...document.querySelectorAll('.card button, #composer button:not([hidden])')].map((each) => each.offsetHeight)) >= 44`,
        ),
        true,
      )
      const list = `getComputedStyle(document.querySelector('#sidebar')).visibility`
      assert.equal(await see(page, list), 'hidden')
      await page.click('#open-list')
      assert.equal(await see(page, list), 'visible')
      await page.keyboard.press('Escape')
      assert.deepEqual([await see(page, list), await see(page, 'document.activeElement.id')], ['hidden', 'open-list'])
      assert.equal(await see(page, 'document.documentElement.lang'), locale)
      assert.equal(await see(page, `document.getAnimations().length`), 0)
      assert.deepEqual(problems, [])
    },
  )
}
