// Keeps a page up to date with what happens on other devices and in other tabs. Only a tab that is looked at
// listens: browsers open few connections to one site, and the services few streams for one user.
const page = document.querySelector('[data-live]')
// Up to where the page shows what happened: microseconds of the server's clock.
let after = Number(page.dataset.after)
const ahead = Date.now() - after / 1_000
let source
let isOpen = false
let next
let pause = 2_000

// A form that came back with what is wrong in it was typed, too.
const chosen = (select) => Math.max(0, [...select.options].findIndex((option) => option.defaultSelected))
const isBusy = () =>
  document.querySelector('.error, .notice.bad') ||
  [...document.querySelectorAll('textarea, input:not([type=hidden])')].some(
    (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked
  ) ||
  [...document.querySelectorAll('select')].some((select) => select.selectedIndex !== chosen(select))

// What was typed is not thrown away, and no form is sent once more.
const again = () => {
  const stale = document.getElementById('stale')
  if (stale && isBusy()) stale.hidden = false
  else location.replace(page.dataset.path)
}

const time = (text) =>
  new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: page.dataset.timezone }).format(new Date(text))

const leave = (row) => {
  row?.remove()
  document.querySelector('.nobody').hidden = page.children.length > 0
}

// Whoever forgets to finish is at work no longer than planned; nobody tells of that.
const stay = (row) => setTimeout(leave, Date.parse(row.dataset.leaves) - (Date.now() - ahead), row)
for (const row of page.querySelectorAll('[data-leaves]')) stay(row)

const listeners = {
  // Somebody of the team began or ended.
  team: ({ session_id, user, project, category, status, expected_end_at }) => {
    if (String(project.team_id) !== page.dataset.team) return
    page.querySelector(`[data-session="${CSS.escape(session_id)}"]`)?.remove()
    if (status === 'running') {
      const row = document.getElementById('working').content.firstElementChild.cloneNode(true)
      row.dataset.session = session_id
      row.dataset.leaves = expected_end_at
      row.querySelector('strong').textContent = user.username
      row.querySelector('.small').textContent = `${category}, ${project.name}`
      row.querySelector('time').textContent = time(expected_end_at)
      page.append(row)
      stay(row)
    }
    leave()
  },
  // One of one's own sessions changed: whichever runs now is to be shown.
  timer: ({ session }) => {
    const shown = page.dataset.session
    const isShown = session.session_id === shown
    if (session.status === 'running' ? !isShown : isShown) again()
  },
}

// While the stream was open nothing was missed. A minute back, because it may be found out late that it was cut.
const seen = () => {
  if (isOpen) after = Math.max(after, Math.floor((Date.now() - ahead) * 1_000) - 60_000_000)
  isOpen = false
}

const listen = () => {
  source = new EventSource(new URL(`../live?after=${after}`, import.meta.url))
  const on = (kind, listener) =>
    source.addEventListener(kind, (event) => {
      after = Number(event.lastEventId) || after
      listener(JSON.parse(event.data))
    })
  for (const kind of page.dataset.live.split(' ')) on(kind, listeners[kind])
  on('hello', () => {
    isOpen = true
    pause = 2_000
    document.documentElement.setAttribute('data-connected', '')
  })
  on('reset', again)
  // A browser comes back by itself to what was cut, from where the page was made, and never to what was refused.
  source.addEventListener('error', () => {
    document.documentElement.removeAttribute('data-connected')
    source.close()
    seen()
    next = setTimeout(watch, pause)
    pause = Math.min(2 * pause, 300_000)
  })
}

const watch = () => {
  clearTimeout(next)
  source?.close()
  seen()
  if (!document.hidden) listen()
}
document.addEventListener('visibilitychange', watch)
watch()
