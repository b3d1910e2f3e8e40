import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exactNumber, type Json } from '../../src/contract/json.ts'
import { isEmptyResult } from '../../src/tools/empty-result.ts'

test('LC-11: null, empty text, list and object are empty, and an object with nothing but an empty list', () => {
  const empty: Json[] = [
    null,
    '',
    [],
    {},
    { orders: [] },
    { total: 0, orders: [] },
    { orders: [], next: null, error: '', more: false, filter: {} },
    { ok: true, orders: [] },
    { success: true, data: [] },
  ]
  for (const result of empty) assert.equal(isEmptyResult(result), true, JSON.stringify(result))
})

test('LC-11: 0, false and whatever says something are data', () => {
  const data: Json[] = [
    0,
    false,
    true,
    ' ',
    [[]],
    [null],
    { total: 0 },
    { total: 5, items: [] },
    { id: '12345', state: 'shipped', discounts: [] },
    { active: true, tags: [] },
    { orders: [], returns: [] },
    { orders: [1] },
    { page: { orders: [] } },
    { total: exactNumber('12345678901234567890'), items: [] },
  ]
  for (const result of data) assert.equal(isEmptyResult(result), false, JSON.stringify(result))
})
