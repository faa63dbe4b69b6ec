-- Short statements that want more memory, or more time, than there is. Each must end soon, with an
-- error or a right answer, in a process that may have little memory.
select length(lpad(arrow_cast(text, 'LargeUtf8'), 2147483647)) from t
select length(rpad(arrow_cast(text, 'LargeUtf8'), 2147483647)) from t
select lpad(text, 260000), lpad(text, 260001), lpad(text, 260002), lpad(text, 260003) from t
select sum(length(lpad(text, 260000))) + sum(length(lpad(text, 260001))) from t
select length(lpad('x', 2000000000))
select length(lpad('x', 2000000000, 'é')) from t
select length(lpad('x', n * 1000000)) from t
select lpad('x', 60000000) || n from t
select * from (select lpad('x', 1000000) || n as x from t limit 100000) where x like '%1%'
select a.n, b.x from t a, (select lpad('x', 60000000) as x) b
select a.n, b.x from t a, (select arrow_cast(lpad('x', 60000000), 'LargeUtf8') as x) b
select length(replace(replace(replace(replace(replace(replace(replace(replace(replace('aaaaaaaaaa','a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'))
select max(length(replace(replace(replace(replace(replace(replace(lpad(text, 100, 'a'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa'))) from t
select max(length(regexp_replace(regexp_replace(regexp_replace(lpad(text, 1000, 'a'),'a','aaaaaaaaaaaaaaaaaaaa','g'),'a','aaaaaaaaaaaaaaaaaaaa','g'),'a','aaaaaaaaaaaaaaaaaaaa','g'))) from t
select max(length(regexp_replace(lpad(text, 10000, 'a'), '(.*)', '\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1'))) from t
select max(length(translate(translate(lpad(text, 60000, 'a'), 'a', 'á'), 'á', 'ą́̂̃̄̅̆̇̈̉'))) from t
select max(length(concat_ws(lpad('x', 50000), text, text, text, text, text, text, text, text))) from t
select max(length(concat(lpad(text, 9000), lpad(text, 9000), lpad(text, 9000), lpad(text, 9000), lpad(text, 9000), lpad(text, 9000), lpad(text, 9000), lpad(text, 9000)))) from t
select max(length(array_to_string(string_to_array(lpad(text, 9000, 'a,'), ','), lpad('x', 9000)))) from t
select max(array_length(array_replace_all(string_to_array(lpad(text, 9000, 'a,'), ','), 'a', lpad('x', 90000)))) from t
select max(length(array_to_string(make_array(lpad(text, 90000), lpad(text, 90000), lpad(text, 90000)), ','))) from t
select arrow_cast(NULL, 'FixedSizeBinary(2147483647)')
select arrow_cast(text, 'FixedSizeBinary(2147483647)') from t
select arrow_cast(NULL, 'FixedSizeList(2147483647, Int64)') from t
select arrow_try_cast(text, 'FixedSizeBinary(1000000)') from t
select approx_percentile_cont(n, 0.5, 2000000000) from t
select array_agg(n) over () from t
select string_agg(text, ',') over () from t
select max(x) over () from (select lpad(text, 60000) as x, n from t)
select first_value(x) over (order by n) from (select case when n = 1 then lpad(text, 6000000) else text end as x, n from t)
select lag(x, 1, lpad('x', 4000000)) over (order by n) from (select text as x, n from t)
select unnest(a), x from (select array_agg(n) as a, lpad('x', 1000000) as x from t)
select a.l, b.n from (select array_agg(n) as l from t) a, t b
select array_agg(l) from (select array_agg(a.n) as l from t a, t b group by b.n)
select string_agg(lpad(text, 60000), ',') from t
select array_agg(lpad(text, 60000)) from t
select count(distinct lpad(text, 60000)) from t
select lpad(text, 60000) from t order by 1
select x.a || y.a from (select lpad(text, 60000) as a from t) x join (select lpad(text, 60000) as a from t) y on x.a <> y.a
select format_value(n, ':2000000000d') from t
select max(length(repeat(text, 1000000000))) from t
select range(1, 10000000000)
select * from generate_series(1, 10000000000)
select array_resize([1], 2000000000, 1)
select count(*) from t group by cube(n+0,n+1,n+2,n+3,n+4,n+5,n+6,n+7,n+8,n+9,n+10,n+11,n+12,n+13,n+14,n+15,n+16,n+17,n+18,n+19,n+20,n+21)
select count(*) from t group by cube(n,text,n+1,n+2,n+3,n+4), cube(n+5,n+6,n+7,n+8,n+9,n+10)
select * from (select count(*) from t group by grouping sets (cube(n,n+1,n+2,n+3,n+4,n+5), cube(n,n+1,n+2,n+3,n+4,n+5,n+6,n+7,n+8,n+9)))
with recursive r as (select 1 as i, lpad('x', 1000) as x union all select i + 1, x || x from r) select max(length(x)) from r
with recursive r as (select 1 as i union all select i + 1 from r) select array_agg(i) from r
select max(levenshtein(lpad(text, 9999, 'ab'), lpad(text, 9999, 'ba'))) from t
select max(levenshtein(lpad(text, 200000, 'ab'), lpad(text, 200000, 'ba'))) from t
select max(regexp_count(lpad(text, 60000, 'ab'), '((a|b)*a(a|b){60})')) from t
select input_file_name() from t
select a.value from generate_series(1, 1000000) a, generate_series(1, 1000000) b order by a.value
select array_agg(a.value) from generate_series(1, 1000000) a, generate_series(1, 1000000) b
select time_bucket_gapfill('1 second', to_timestamp(n), '1970-01-01', '1970-01-02') as t, locf(max(lpad(text, 1000000))) as x from t where n = 1 group by 1
select time_bucket_gapfill('1 second', to_timestamp(n), '1970-01-01', '1970-01-02') as t, lpad(text, 100000) as k, count(*) from t where n < 5 group by 1, 2
select time_bucket_gapfill('1 second', to_timestamp(0), '1970-01-01', '1970-01-02') as t, n, count(*) from t group by 1, 2
select unnest(json_array_elements(concat('[', lpad(text, 60000, '1,'), '1]'))) from t
select json_array_elements(concat('[1', lpad('', 60000, ',1'), ']')) from t
