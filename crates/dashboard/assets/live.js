// Keeps a page up to date with changes on other devices and in other tabs. Only a visible tab listens: browsers open few
// connections to one site, and the services few streams for one user.
const page = document.querySelector('[data-live]')
// The page shows all changes up to this time, in microseconds of the server's clock.
let after = Number(page.dataset.after)
const ahead = Date.now() - after / 1_000
let source
let isOpen = false
let next
let pause = 2_000

// A form that came back with errors also contains input.
const chosen = (select) => Math.max(0, [...select.options].findIndex((option) => option.defaultSelected))
const isBusy = () =>
  document.querySelector('.error, .notice.bad') ||
  [...document.querySelectorAll('textarea, input:not([type=hidden])')].some(
    (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked
  ) ||
  [...document.querySelectorAll('select')].some((select) => select.selectedIndex !== chosen(select))

// Keeps what the user has typed, and submits no form again.
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

// A session that nobody finishes is shown until its planned end, because no event reports that.
const stay = (row) => setTimeout(leave, Date.parse(row.dataset.leaves) - (Date.now() - ahead), row)
for (const row of page.querySelectorAll('[data-leaves]')) stay(row)

const listeners = {
  // A session of the team started or ended.
  team: ({ session_id, user, project, category, status, expected_end_at }) => {
    if (String(project.team_id) !== page.dataset.team) return
    page.querySelector(`[data-session="${CSS.escape(session_id)}"]`)?.remove()
    if (status === 'running') {
      const row = document.getElementById('working').content.firstElementChild.cloneNode(true)
      row.dataset.session = session_id
      row.dataset.leaves = expected_end_at
      row.querySelector('strong').textContent = user.username
      row.querySelector('.small').textContent = `${category}, ${project.name}`
      const until = row.querySelector('.until')
      until.textContent = until.textContent.replace('…', time(expected_end_at))
      page.append(row)
      stay(row)
    }
    leave()
  },
  // One of the user's own sessions changed: the page must show the one that runs now.
  timer: ({ session }) => {
    const shown = page.dataset.session
    const isShown = session.session_id === shown
    if (session.status === 'running' ? !isShown : isShown) again()
  },
}

// Nothing was missed while the stream was open. One minute is subtracted, because a lost connection may be noticed late.
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
  // The browser's own reconnect continues from the time at which the page was made, and stops after an error response.
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
