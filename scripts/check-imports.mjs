// Checks the imports by the rules in .dependency-cruiser.mjs, and makes sure that the cruiser read the sources: without a parser that
// it can use, it silently reads no module at all. Every folder of core has a place in the order of its rooms, and every file is in a room.
import { existsSync, readdirSync } from 'node:fs'
import { cruise } from 'dependency-cruiser'
import config from '../.dependency-cruiser.mjs'
import { coreRooms } from './core-rooms.mjs'
import { packages, report, root, sourceFiles } from './packages.mjs'

const { output } = await cruise(
  packages
    .flatMap((name) => [`packages/${name}/src`, `packages/${name}/test`])
    .filter((path) => existsSync(new URL(path, root))),
  { ...config.options, ruleSet: { forbidden: config.forbidden }, validate: true },
)

const problems = output.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`)
const read = new Map(output.modules.map((module) => [module.source, module]))
const page = 'packages/inspector/src/page/'
for (const path of packages.flatMap(sourceFiles))
  if (!read.has(path) && !path.startsWith(page)) problems.push(`not read: ${path}`)

const unplaced = readdirSync(new URL('packages/core/src/', root)).filter(
  (name) => ![...coreRooms, 'index.ts', 'platform.d.ts'].includes(name),
)
for (const name of unplaced) problems.push(`no room of scripts/core-rooms.mjs: packages/core/src/${name}`)

const imports = output.modules.reduce((sum, module) => sum + module.dependencies.length, 0)
report('imports', imports, problems)
