import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'

const maxBytes = 300_000

test('the script and the style of the page together stay below 300 kB', async () => {
  const folder = join(inject('program'), 'dist', 'inspector')
  const sizes = await Promise.all(['page.js', 'page.css'].map(async (name) => (await stat(join(folder, name))).size))
  expect(Math.min(...sizes)).toBeGreaterThan(0)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(maxBytes)
})
