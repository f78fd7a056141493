// Past 600 lines a file is two concepts.
import { readFileSync } from 'node:fs'
import { packages, report, root, sourceFiles } from './packages.mjs'

const limit = 600
const files = packages.flatMap(sourceFiles)
const problems = files.flatMap((path) => {
  const lines = readFileSync(new URL(path, root), 'utf8').trimEnd().split('\n').length
  return lines > limit ? [`${path}: ${lines} lines, the limit is ${limit}`] : []
})

report('file length', files.length, problems)
