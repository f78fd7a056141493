// Reports to the model when a file that it wrote has a syntax error.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const { tool_input: input } = JSON.parse(readFileSync(0, 'utf8'))
if (input.file_path.endsWith('.mjs')) {
  const { status, stderr } = spawnSync(process.execPath, ['--check', input.file_path], { encoding: 'utf8' })
  if (status !== 0) {
    process.stderr.write(stderr)
    process.exit(2)
  }
}
