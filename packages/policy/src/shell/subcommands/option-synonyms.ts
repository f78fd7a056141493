/**
 * Synonymous options, by program or by program and subcommand. Options after `>` imply those before it: `a&b` is both of
 * these, `name=value` an option with that value, and `+*` a word of that form (`git push origin +main` forces).
 */
const groups: Readonly<Record<string, readonly string[]>> = {
  rm: ['-r -R --recursive', '-f --force', '-d --dir'],
  cp: ['-r -R --recursive > -a --archive', '-f --force'],
  chmod: ['-R --recursive'],
  chown: ['-R --recursive'],
  chgrp: ['-R --recursive'],
  sed: ['-i --in-place', '-n --quiet --silent', '-e --expression', '-f --file', '-s --separate'],
  tar: ['-x --extract --get', '-c --create', '-f --file', '-C --directory', '-z --gzip', '-P --absolute-names'],
  rsync: [
    '--delete --del --delete-before --delete-during --delete-after --delete-excluded --delete-delay',
    '-a --archive',
    '-e --rsh',
  ],
  curl: [
    '-X --request',
    '-d --data --data-raw --data-binary --data-urlencode --data-ascii --json',
    '-F --form',
    '-T --upload-file',
    '-o --output > -O --remote-name',
    '-k --insecure',
    '-L --location',
    '-H --header',
    '-u --user',
    '-K --config',
    '-x --proxy',
    '-b --cookie',
    '-c --cookie-jar',
  ],
  wget: [
    '-O --output-document',
    '-i --input-file',
    '-r --recursive',
    '--post-data --post-file --body-data --body-file',
  ],
  kill: ['-9 -KILL -SIGKILL > -s=KILL -s=SIGKILL -s=9 -n=9 --signal=KILL --signal=SIGKILL --signal=9'],
  pkill: ['-9 -KILL -SIGKILL > --signal=KILL --signal=SIGKILL --signal=9'],
  killall: ['-9 -KILL -SIGKILL > -s=KILL -s=SIGKILL -s=9 --signal=KILL --signal=SIGKILL --signal=9'],
  node: ['-e --eval', '-p --print', '-r --require --import --loader --experimental-loader', '-c --check'],
  su: ['-c --command', '-l --login > -'],
  sudo: ['-u --user', '-i --login', '-s --shell', '-E --preserve-env'],
  env: ['-i --ignore-environment > -', '-S --split-string', '-u --unset', '-C --chdir'],
  apt: ['-y --yes --assume-yes'],
  pip: ['-r --requirement', '-e --editable', '-U --upgrade', '-t --target', '-i --index-url'],
  cargo: ['-r --release', '-p --package'],
  'git push': [
    '-f --force > +* --mirror',
    '-d --delete > :* --mirror --prune',
    '-n --dry-run',
    '-u --set-upstream',
    '--all --branches',
  ],
  'git commit': ['-n --no-verify', '-a --all', '-m --message', '-s --signoff', '-F --file', '-e --edit'],
  'git branch': [
    '-d --delete > -D',
    '-D > --delete&--force',
    '-m --move > -M',
    '-M > --move&--force',
    '-f --force > -D -M -C',
    '-c --copy > -C',
  ],
  'git checkout': ['-f --force', '-p --patch'],
  'git switch': ['-f --force --discard-changes', '-c --create > -C', '-C --force-create'],
  'git clean': ['-f --force', '-n --dry-run'],
  'git tag': ['-d --delete', '-f --force', '-a --annotate', '-s --sign'],
  'git add': ['-A --all --no-ignore-removal', '-f --force', '-u --update', '-p --patch', '-n --dry-run'],
  'git rm': ['-f --force', '-n --dry-run'],
  'git fetch': ['-f --force > +*', '-p --prune', '-t --tags'],
  'git rebase': ['-i --interactive', '-x --exec', '-f --force-rebase --no-ff'],
  'git merge': ['-s --strategy', '-X --strategy-option', '-m --message'],
  'git config': ['-f --file', '-l --list', '-e --edit'],
  'git worktree': ['-f --force'],
  'git restore': ['-S --staged', '-W --worktree', '-s --source'],
  npm: [
    '-g --global > --location=global',
    '-D --save-dev',
    '-f --force',
    '-w --workspace',
    '-C --prefix',
    '-y --yes',
    '-c --call',
  ],
  pnpm: ['-g --global', '-r --recursive', '-w --workspace-root', '-F --filter', '-C --dir', '-D --save-dev'],
  docker: [
    '-f --force',
    '-v --volume --volumes --mount',
    '-e --env',
    '-d --detach',
    '-p --publish',
    '-u --user',
    '-w --workdir',
    '-a --all',
    '-H --host',
    '-c --context',
    '--net --network',
  ],
  kubectl: [
    '-f --filename',
    '-n --namespace',
    '-A --all-namespaces',
    '-l --selector',
    '-k --kustomize',
    '-R --recursive',
    '-s --server',
  ],
  helm: ['-n --namespace', '-i --install', '-f --values'],
  gh: ['-R --repo', '-F --field', '-f --raw-field', '-X --method', '-d --delete-branch', '-s --squash'],
  systemctl: ['-f --force', '-H --host', '-M --machine'],
}

/** The options that do the same as this one, itself first. */
export function sameOptions(program: string, subcommand: string | undefined, option: string): readonly string[] {
  const keys = [...(subcommand === undefined ? [] : [`${program} ${subcommand}`]), program]
  const fitting = keys
    .flatMap((key) => (Object.hasOwn(groups, key) ? (groups[key] ?? []) : []))
    .map((group) => group.split(' > ').map((names) => names.split(' ')))
    .filter(([equal = []]) => equal.includes(option))
  return [...new Set([option, ...fitting.flat(2)])]
}
