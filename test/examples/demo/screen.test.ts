import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createScreen } from '../../../examples/demo/screen.ts'

function written(isTTY: boolean, environment: Record<string, string> = {}) {
  let text = ''
  const output = { isTTY, write: (more: string) => (text += more) }
  return { screen: createScreen(output, environment), text: () => text }
}

test('colours stand only on a terminal, and not there if NO_COLOR is set', () => {
  const looks: readonly (readonly [isTTY: boolean, environment: Record<string, string>, coloured: boolean])[] = [
    [true, {}, true],
    [true, { NO_COLOR: '' }, true],
    [true, { NO_COLOR: '1' }, false],
    [false, {}, false],
    [false, { FORCE_COLOR: '1' }, false],
  ]
  for (const [isTTY, environment, coloured] of looks) {
    const { screen, text } = written(isTTY, environment)
    screen.line('done', 'completed', 'green')
    assert.equal(text().includes('\u001b['), coloured, JSON.stringify({ isTTY, environment }))
  }
})

test('text grows behind its label until something else is written', () => {
  const { screen, text } = written(false)
  screen.grow('assistant', 'One ')
  screen.grow('assistant', 'moment.')
  screen.line('done', 'completed')
  screen.grow('assistant', 'Two')
  screen.end()
  screen.end()
  assert.equal(text(), 'assistant  One moment.\ndone       completed\nassistant  Two\n')
})

test('words of a model cannot steer the terminal', () => {
  const { screen, text } = written(true, { NO_COLOR: '1' })
  screen.grow('assistant', 'a\u001b[2Jb\r\u0007\nc\u009b31m')
  screen.line('tool', '\u001b]0;title')
  assert.equal(text(), 'assistant  a[2Jb\nc31m\ntool       ]0;title\n')
})
