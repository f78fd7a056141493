// Removes everything that the build and the checks make.
import { rmSync } from 'node:fs'
import { packages, root } from './packages.mjs'

for (const path of ['.tmp', 'coverage', ...packages.map((name) => `packages/${name}/dist`)]) {
  rmSync(new URL(path, root), { recursive: true, force: true })
}
