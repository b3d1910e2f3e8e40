/** Names of tools on GigaChat's wire, and back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { functionName, toolNamed } from '../../../src/providers/gigachat/function-name.ts'

test('an ordinary name goes as it is; one that the API would refuse or take for its own gets a prefix', () => {
  for (const name of ['getOrders', 'find-order', 'x', 'a_1']) assert.equal(functionName(name), name)
  for (const name of ['web_search', 'text2image', 'text2model3d', 'get_file_content', '1st', '_x', '-x', 'fn_x']) {
    assert.equal(functionName(name), `fn_${name}`)
  }
  assert.equal(functionName('odd name!'), 'odd_name_')
  assert.equal(functionName('имя'), 'fn____')
})

test('every name of a tool has its own name on the wire, and comes back from it', () => {
  const name = fc.oneof(
    fc.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/),
    fc.constantFrom('web_search', 'fn_web_search', 'fn_'),
  )
  fc.assert(
    fc.property(name, (tool) => {
      assert.equal(toolNamed(functionName(tool)), tool)
      assert.match(functionName(tool), /^[a-zA-Z][a-zA-Z0-9_-]*$/)
    }),
  )
})

test('a name that nobody declared comes back as it is', () => {
  for (const name of ['web_search', 'functions.find', 'fn_']) assert.equal(toolNamed(name), name)
})
