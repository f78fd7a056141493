// Records contain no context window: the inspector looks it up by model name, like `halting models`.
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { knownModels } from '@halting/models'
import { expect, test } from 'vitest'
import { openFileCatalog } from '../../src/inspect/file-catalog.ts'
import { CatalogSource } from '@halting/analysis/view'
import { programInMemory } from '../support/program-in-memory.ts'
import { here, installProgram } from '../support/program.ts'

installProgram()

const samples = join(import.meta.dirname, '../../../analysis/test/foreign/samples')

async function windowsOf(name: string): Promise<unknown> {
  mkdirSync(join(here(), 'windows'), { recursive: true })
  copyFileSync(join(samples, `${name}.jsonl`), join(here(), 'windows', `${name}.jsonl`))
  const program = programInMemory({ cwd: here(), env: { HOME: here() } })
  const source = new CatalogSource(await openFileCatalog({}, [join('windows', `${name}.jsonl`)], program))
  return (await source.session((await source.onlyKey()) ?? ''))?.runs.map(({ windows }) => windows)
}

test('shows the window of a known model, and none for an unknown one', async () => {
  const model = 'claude-sonnet-4-5'
  const tokens = knownModels().find(({ name }) => name === model)?.contextWindow
  expect(tokens).toBeGreaterThan(0)
  expect(await windowsOf('claude-code-polling')).toEqual([[{ model, tokens }]])
  expect(await windowsOf('codex-rollout-0')).toEqual([[]])
})
