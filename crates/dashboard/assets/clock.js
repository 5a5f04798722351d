// A worker that answers after the given milliseconds: browsers throttle the timers of hidden pages, but not of workers.
onmessage = ({ data }) => setTimeout(postMessage, data, 'over')
