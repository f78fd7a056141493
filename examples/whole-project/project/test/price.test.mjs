import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withTax } from '../src/price.mjs'

test('adds no tax', () => assert.equal(withTax(250, 0), 250))
test('rounds half a cent up', () => assert.equal(withTax(250, 19), 298))
