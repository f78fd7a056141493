import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`packages/${path}`, import.meta.url))

export default defineConfig({
  resolve: {
    // Tests run the sources, never a dist that may be older than they are.
    alias: [
      { find: /^@halting\/core\/(steps|adapters|testing)$/, replacement: source('core/src/$1/index.ts') },
      { find: /^@halting\/models\/ai-sdk$/, replacement: source('models/src/ai-sdk/index.ts') },
      { find: /^@halting\/models\/scripted$/, replacement: source('models/src/scripted/index.ts') },
      { find: /^@halting\/(core|models|agent)$/, replacement: source('$1/src/index.ts') },
    ],
  },
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    // Every core: left to itself, Vitest keeps one of two idle.
    maxWorkers: '100%',
    testTimeout: 30_000,
    reporters: ['default', 'json'],
    outputFile: { json: '.tmp/vitest.json' },
  },
})
