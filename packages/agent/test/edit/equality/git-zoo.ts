import { type Project, rowsOf } from './project.ts'

const script = `
  export GIT_CONFIG_NOSYSTEM=1
  mk() { git init -q --template= "$1"; echo "$1" > "$1/file"; git -C "$1" add .; git -C "$1" commit -qm first; }
  mkdir ../sources; mk ../sources/library; mk ../sources/shared
  git init -q --template= .
  mkdir -p src docs big; echo one > src/a.txt; echo two > src/b.txt; echo text > docs/readme.txt; seq 200 > big/numbers.txt
  printf '*.up filter=upper\\n*.bin binary\\n*.txt text\\n' > .gitattributes; printf 'ignored\\n*.log\\nnested\\nsparse\\nbare.git\\ndetached\\nmerging\\nalternate\\nhooked\\nfiltered\\n' > .gitignore
  echo shout > x.up; printf 'a\\0b' > x.bin
  git add -A; git commit -qm first
  git submodule --quiet add ../../sources/library library 2>/dev/null || git submodule --quiet add "$PWD/../sources/library" library
  git commit -qm submodule; git tag v1
  git checkout -q -b topic; echo topic > src/topic.txt; git add .; git commit -qm topic; git checkout -q main; echo more >> src/a.txt; git commit -qam more
  git worktree add -q ../beside/tree topic
  mk nested; mk sparse; git -C sparse sparse-checkout set --no-cone /file >/dev/null; git clone -q --bare . bare.git 2>/dev/null
  git clone -q --no-hardlinks nested detached 2>/dev/null; git -C detached checkout -q --detach
  mk merging; (cd merging; git checkout -q -b x; echo x > file; git commit -qam x; git checkout -q main; echo y > file; git commit -qam y; git merge -q x || true) >/dev/null 2>&1
  git clone -q --shared nested alternate 2>/dev/null
  mk filtered; echo '*.up filter=upper' > filtered/.gitattributes; git -C filtered config filter.upper.clean 'tr a-z A-Z'; echo shout > filtered/x.up
  mk hooked; mkdir hooked/.git/hooks; printf '#!/bin/sh\\necho hook ran\\n' > hooked/.git/hooks/pre-commit; chmod +x hooked/.git/hooks/pre-commit
  printf '#!/bin/sh\\ngit add -A && git commit -qm by-script && git log --oneline | wc -l\\n' > commit.sh
  printf '#!/bin/sh\\ngit checkout -q -b made; git status --short --branch\\n' > switch.sh
  printf '#!/bin/sh\\ngit -c protocol.allow=always fetch -q https://example.org/x.git\\n' > fetch.sh; chmod +x *.sh
  git add *.sh; git commit -qm scripts
  echo dirty >> src/b.txt; echo new > new.txt; echo log > some.log; mkdir ignored; echo i > ignored/i`

const rows = [
  ...rowsOf(
    `
    git status
    git status --short --ignored
    git log --oneline --graph --all
    git diff
    git add new.txt && git status --short
    git add -A && git status --short
    git add src && git diff --cached --stat
    git add new.txt && git commit -qm new && git log --oneline | head -2
    git commit -qam dirty && git show --stat HEAD
    git add -A && git commit -m "two words" && git status --short
    git blame src/a.txt | cut -c1-8
    echo x >> src/a.txt && git diff --stat
    sed -i s/one/1/ src/a.txt && git diff -U0 src/a.txt | tail -2
    rm new.txt && git status --short
    mkdir -p src/deep && echo d > src/deep/d.txt && git add src/deep && git ls-files src`,
    { quick: true },
  ),
  ...rowsOf(`
    git log -p -1
    git show v1 --stat
    git branch -a
    git tag
    git ls-files -s | wc -l
    git ls-tree -r HEAD --name-only
    git rev-parse HEAD HEAD^ v1
    git describe --tags
    git shortlog -sn HEAD
    git grep -n one
    git cat-file -p HEAD^{tree}
    git check-ignore -v some.log
    git check-attr -a x.up
    git submodule status
    git reflog | head -3
    git stash list
    git remote -v
    git config --list --local | sort
    git diff topic --stat
    git diff v1..HEAD --name-only
    git -C nested status --short
    git -C nested log --oneline
    git -C library log --oneline
    git -C detached status
    git -C merging status
    git -C merging diff
    git -C alternate log --oneline
    git -C sparse status
    cd nested && echo x > y && git status --short
    cd library && echo x > y && git status --short
    cd src && git add ../new.txt && git status --short
    echo quiet > y.up && git add y.up && git show :y.up
    git add --renormalize . && git status --short
    git add -N new.txt && git status --short
    git add -u && git status --short
    git commit --allow-empty -qm empty && git log --oneline | wc -l
    git commit -qam x && git log -1 --format='%an %ae %s'
    git add -A && git commit -q -F - <<< 'from input' && git log -1 --format=%s
    for f in src/*.txt; do echo "$f $(git log --oneline -- "$f" | wc -l)"; done
    touch src/a.txt && git status --short && git diff --quiet src/a.txt; echo $?
    cp src/a.txt src/copy.txt && mv src/b.txt src/moved.txt && git status --short
    git diff > change.patch && rm src/b.txt && cat change.patch | head -3
    echo "$(git rev-parse --show-toplevel)" | sed 's|.*/||'
    find . -name .git -maxdepth 2 | sort`),
  { command: "git worktree list | sed 's|/.*/||'" },
  { command: 'git -C bare.git log --oneline | wc -l', differs: 'git turned down' },
  { command: './commit.sh', differs: '.git read-only' },
  { command: './switch.sh', differs: '.git read-only' },
  { command: './fetch.sh', differs: 'no network', reaches: true },
  { command: 'echo x >> .git/config', asks: true },
  { command: 'echo x > .git/hooks/pre-commit', asks: true },
  ...rowsOf(
    `
    git checkout topic
    git checkout -- src/b.txt
    git reset --hard
    git stash
    git merge topic
    git rebase topic
    git pull
    git push
    git fetch
    git clone nested copy
    git submodule update --init
    git worktree add ../w
    git config user.name B
    git remote add o x
    git clean -fdx
    git restore src/b.txt
    git switch topic
    git cherry-pick topic
    git -C merging checkout --ours file
    git -C filtered add -A
    rm -rf .git
    mv .gitattributes x`,
    { asks: true },
  ),
] as const

export const gitZoo: Project = { name: 'git zoo', needs: ['git'], script, rows: rows.map((row) => ({ ...row })) }
