// Makes a release: `npm run release -- 0.2.0 --repository https://forge.example/you/halting [--dry-run] [--skip-checks] [--publish]`.
// A step that is not possible is refused with a message, before anything is changed if possible. `--dry-run` changes nothing.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { manifestOf, packages, publishedPackages, root } from './packages.mjs'
import { isNewer, manifestFor, publishCommand, releasedChangelog, repositoryOf } from './release-texts.mjs'

const cwd = fileURLToPath(root)

/** A refused step. The message is for the person who makes the release. */
class Refusal extends Error {}

try {
  release(options())
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  console.error(`release: ${error.message}`)
  process.exitCode = 2
}

function options() {
  const flags = {
    repository: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    'skip-checks': { type: 'boolean', default: false },
    publish: { type: 'boolean', default: false },
  }
  let parsed
  try {
    parsed = parseArgs({ options: flags, allowPositionals: true })
  } catch (error) {
    throw new Refusal(error.message)
  }
  const { values, positionals } = parsed
  const [version, ...more] = positionals
  if (version === undefined || more.length > 0)
    throw new Refusal('Name one version: npm run release -- 0.2.0 --repository https://forge.example/you/halting')
  const isDry = values['dry-run']
  if (values['skip-checks'] && !isDry) throw new Refusal('--skip-checks is for --dry-run alone: a release is checked.')
  if (values.publish && isDry) throw new Refusal('--publish and --dry-run exclude each other.')
  return {
    version,
    repository: values.repository,
    isDry,
    skipsChecks: values['skip-checks'],
    publishes: values.publish,
  }
}

function release({ version, repository: address, isDry, skipsChecks, publishes }) {
  const repository = refusing(() => repositoryOf(address))
  const { version: before } = JSON.parse(textOf('package.json'))
  refusing(() => isNewer(version, before))
  // Without a name and an address, the commit would fail after the checks.
  if (!isDry) git('var', 'GIT_COMMITTER_IDENT')
  const changed = git('status', '--porcelain')
  if (changed !== '') throw new Refusal(`The working tree has changes. Commit or remove them first:\n${changed}`)
  const tag = `v${version}`
  if (git('tag', '--list', tag) !== '') throw new Refusal(`The tag ${tag} exists. Choose another version.`)
  const date = new Date().toISOString().slice(0, 10)
  const changelog = refusing(() => releasedChangelog(textOf('CHANGELOG.md'), version, date))
  const files = { ...manifests(version, repository), 'CHANGELOG.md': changelog.text }

  if (!skipsChecks) check()
  const did = isDry ? 'would write' : 'wrote'
  if (!isDry) for (const [path, text] of Object.entries(files)) writeFileSync(new URL(path, root), text)
  console.log(`${did} ${version} (it was ${before}) in ${Object.keys(files).length} files, and this changelog entry:\n`)
  console.log(`${changelog.heading}\n\n${changelog.summary}\n`)
  if (isDry) return console.log(`would build, commit and tag ${tag}`)
  // The packed files have to contain the new version.
  run('npm', ['run', '--silent', 'build'])
  run('npm', ['run', '--silent', 'shape'])
  git('add', '--all')
  git('commit', '--quiet', '--message', `Release ${version}`)
  git('tag', '--annotate', tag, '--message', `halting ${version}`)
  console.log(`committed and tagged ${tag}`)
  publish(publishes, version, tag)
}

/** Writes the new version to the package.json of every package, to the dependencies on it, and to package-lock.json. */
function manifests(version, repository) {
  const folders = ['', ...packages.map((name) => `packages/${name}`)]
  const published = new Set(publishedPackages.map((name) => `packages/${name}`))
  const own = new Set(packages.map((name) => manifestOf(name).name))
  const files = folders.map((directory) => {
    const path = directory === '' ? 'package.json' : `${directory}/package.json`
    const place = published.has(directory) ? { ...repository, directory } : undefined
    return [path, manifestFor(JSON.parse(textOf(path)), { version, own, repository: place })]
  })
  const lock = JSON.parse(textOf('package-lock.json'))
  for (const directory of folders)
    if (lock.packages[directory] !== undefined)
      lock.packages[directory] = manifestFor(lock.packages[directory], { version, own, repository: undefined })
  files.push(['package-lock.json', { ...lock, version }])
  return Object.fromEntries(files.map(([path, made]) => [path, `${JSON.stringify(made, null, 2)}\n`]))
}

function check() {
  const { status } = spawnSync(fileURLToPath(new URL('.ci/run', root)), { cwd, stdio: 'inherit' })
  if (status !== 0) throw new Refusal('.ci/run failed. Nothing was changed; fix what it says, and try again.')
  const changed = git('status', '--porcelain')
  if (changed !== '') throw new Refusal(`The checks changed the working tree:\n${changed}`)
}

/** Publishes the lowest packages first, so that an installation meanwhile finds its dependencies. npm accepts any order. */
function publish(now, version, tag) {
  const commands = publishedPackages.map((name) => publishCommand(name, version))
  const linesFrom = (first) => commands.slice(first).map((command) => `  npm ${command.join(' ')}`)
  const push = `Then: git push origin HEAD ${tag}`
  if (now)
    for (const [at, command] of commands.entries())
      if (!succeeds('npm', command)) {
        const rest = ['Continue with:', ...linesFrom(at), '', push].join('\n')
        throw new Refusal(
          `npm ${command.join(' ')} failed. ${at} of ${commands.length} packages are published. ${rest}`,
        )
      }
  if (!now) console.log(['', 'Publish with:', ...linesFrom(0)].join('\n'))
  console.log(`\n${push}`)
}

const revertHint = 'git restore --staged --worktree . reverts what is not committed.'

function run(program, parameters) {
  if (!succeeds(program, parameters)) throw new Refusal(`${program} ${parameters.join(' ')} failed. ${revertHint}`)
}

function succeeds(program, parameters) {
  return spawnSync(program, parameters, { cwd, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0
}

function git(...parameters) {
  const { status, stdout, stderr, error } = spawnSync('git', parameters, { cwd, encoding: 'utf8' })
  if (status === 0) return stdout.trimEnd()
  const hint = ['add', 'commit'].includes(parameters[0]) ? ` ${revertHint}` : ''
  throw new Refusal(`git ${parameters[0]} failed: ${(error?.message ?? stderr).trim()}${hint}`)
}

function textOf(path) {
  return readFileSync(new URL(path, root), 'utf8')
}

/** Returns what `make` returns. Refuses the step if it throws. */
function refusing(make) {
  try {
    return make()
  } catch (error) {
    throw new Refusal(error.message)
  }
}
